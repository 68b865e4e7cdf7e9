package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/nn"
)

// handler answers for a scorer.
type handler struct {
	*nn.Scorer
	deadline time.Duration
	body     int64
	latency  latency
}

func newHandler(s *nn.Scorer, deadline time.Duration, body int64) http.Handler {
	h := &handler{Scorer: s, deadline: deadline, body: body}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /score", h.score)
	mux.HandleFunc("GET /model", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"model": h.Version(), "feeds": h.Feeds(), "outputs": h.Outputs()})
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"model": h.Version()}) })
	mux.HandleFunc("GET /latency", func(w http.ResponseWriter, _ *http.Request) { answer(w, h.latency.report()) })
	return mux
}

// score answers rows with their scores: JSON by its content type, raw lines by any other.
func (h *handler) score(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), h.deadline)
	defer cancel()
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.body))
	if err != nil {
		refuse(w, err)
		return
	}
	compute := h.ScoreLines
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		compute = h.ScoreJSON
	}
	scores, err := compute(ctx, text)
	if err != nil {
		refuse(w, err)
		return
	}
	named := map[string][][]float32{}
	for i, output := range h.Outputs() {
		named[output.Name] = slices.Collect(slices.Chunk(scores.Values[i], width(output)))
	}
	answer(w, map[string]any{"model": scores.Version, "scores": named})
	h.latency.add(time.Since(began))
}

// width is how many numbers an output has for a row.
func width(v nn.Value) int {
	n := 1
	for _, d := range v.Shape[1:] {
		n *= d
	}
	return n
}

// refuse says what is wrong with a request: it came too late, is too large, or makes no sense to the model.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status = http.StatusRequestEntityTooLarge
	} else if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		status = http.StatusServiceUnavailable
	}
	http.Error(w, err.Error(), status)
}

func answer(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a score that is NaN
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // who has gone needs no answer
}
