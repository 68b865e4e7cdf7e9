package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
)

// handler answers for a scorer.
type handler struct {
	*serve.Scorer
	limits
	latency latency
	large   chan struct{} // a place for each large body that is in memory
}

// limits are a request's.
type limits struct {
	deadline time.Duration
	body     int64 // bytes
	rows     int
}

// Of bodies that are larger than small, so many are in memory at a time; smaller ones wait for none of them.
const (
	largeBodies = 32
	small       = 16 << 10
)

func newHandler(s *serve.Scorer, l limits) http.Handler {
	h := &handler{Scorer: s, limits: l, large: make(chan struct{}, largeBodies)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /score", h.score)
	mux.HandleFunc("GET /model", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"model": h.Version(), "feeds": h.Feeds(), "outputs": h.Outputs()})
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter,
		_ *http.Request) {
		answer(w, map[string]any{"model": h.Version()})
	})
	mux.HandleFunc("GET /latency", func(w http.ResponseWriter, _ *http.Request) { answer(w, h.latency.report()) })
	return mux
}

// score answers rows with their scores: JSON by its content type, raw lines by any other.
func (h *handler) score(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), h.deadline)
	defer cancel()
	if n := r.ContentLength; n < 0 || n > small {
		select {
		case h.large <- struct{}{}:
			defer func() { <-h.large }()
		case <-ctx.Done():
			refuse(w, ctx.Err())
			return
		}
	}
	body := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+max(0, min(r.ContentLength, h.body))))
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, h.body)); err != nil {
		refuse(w, err)
		return
	}
	text := body.Bytes()
	compute, rows := h.ScoreLines, bytes.Count(bytes.TrimSpace(text), []byte("\n"))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/json" {
		compute, rows = h.ScoreJSON, bytes.Count(text, []byte("{"))
	}
	if rows > h.rows {
		http.Error(w, fmt.Sprintf("%d rows: a request may have %d", rows, h.rows), http.StatusRequestEntityTooLarge)
		return
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
	said := map[string]any{"model": scores.Version, "scores": named}
	if scores.Odd != nil {
		said["odd"] = scores.Odd
	}
	answer(w, said)
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

// refuse says what is wrong with a request: it came too late, is too large, or makes no sense to the model. That an op
// of the model panicked is no fault of the request, and its stack is for the log alone.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if errors.Is(err, nn.ErrOpPanicked) {
		slog.Error("a request could not be computed", "error", err)
		err, status = errors.New("the model failed; the server's log says how"), http.StatusInternalServerError
	} else if errors.Is(err, os.ErrDeadlineExceeded) { // of the connection, whose addresses the error has
		err, status = errors.New("the request did not come to its end in time"), http.StatusRequestTimeout
	} else if _, large := errors.AsType[*http.MaxBytesError](err); large {
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
