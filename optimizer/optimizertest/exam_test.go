package optimizertest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/optimizer/optimizertest"
)

// flawed is SGD with one thing wrong.
type flawed struct{ flaw string }

func (flawed) Name() string { return "flawed" }

func (f flawed) StateLen(n int) int {
	if f.flaw == "slices" {
		return n + 1
	}
	return n
}

func (f flawed) Update(w, g, state []float32, s *optimizer.State) {
	rate := float32(0.1)
	switch f.flaw {
	case "twin":
		rate = 0.2
	case "memo":
		if s.MemoStep == 0 { // never looks again
			s.Memo[0], s.MemoStep = float32(s.Step), 1
		}
		rate = s.Memo[0]
	case "allocates nothing":
		g = append([]float32(nil), g...)
	case "touches only its slices":
		for i := range g {
			g[i] *= 2
		}
	}
	f.apply(w, g, state, rate)
}

func (f flawed) apply(w, g, state []float32, rate float32) {
	for i := range w {
		switch {
		case f.flaw == "a NaN shows" && g[i] != g[i]:
			continue
		case f.flaw == "zero gradient":
			w[i] -= 1e-3
		case f.flaw == "cut slices":
			rate = 0.1 * float32(len(w))
		}
		w[i] -= rate * g[i]
		state[i] += g[i]
	}
}

// hoarder keeps for itself what belongs to a variable or to a call.
type hoarder struct {
	flaw  string
	Rate  *float32
	steps int64
	w, m  []float32
}

func (*hoarder) Name() string { return "hoarder" }

func (h *hoarder) StateLen(n int) int {
	if h.flaw == "slots share memory" {
		return 2 * n
	}
	return n
}

func (h *hoarder) InitState(state []float32) {
	if h.flaw == "initial state" {
		return // what is there stays
	}
	clear(state)
}

// Update is momentum: state is m.
func (h *hoarder) Update(w, g, state []float32, s *optimizer.State) {
	m, rate := state, 0.1/float32(s.Step)
	switch h.flaw {
	case "off by one":
		rate = 0.1 / float32(s.Step+1)
	case "counts by itself":
		h.steps++
		rate = 0.1 / float32(h.steps)
	case "keeps its first state":
		if h.m == nil {
			h.m = state
		}
		m = h.m[:min(len(w), len(h.m))]
		w, g = w[:len(m)], g[:len(m)]
	case "scratch":
		h.w = append(h.w[:0], w...)
		defer copy(w, h.w)
		w = h.w
	}
	for i := range w {
		m[i] = 0.5*m[i] + g[i]
		w[i] -= rate * m[i]
	}
}

func momentumTwin(w, g, m []float64, step int64) {
	for i := range w {
		m[i] = 0.5*m[i] + g[i]
		w[i] -= 0.1 / float64(step) * m[i]
	}
}

// restless says that it rests when it doesn't.
type restless struct{ flawed }

func (restless) Sweeps() bool                  { return true }
func (restless) Rests(_, state []float32) bool { return true }
func (restless) Update(w, _, _ []float32, _ *optimizer.State) {
	for i := range w {
		w[i]++
	}
}

// deaf says that its rate can be set, and takes no notice.
type deaf struct{ flawed }

func (deaf) LearningRate() (float64, lr.Schedule) { return 0.1, nil }

func twin(w, g, state []float64, _ int64) {
	for i := range w {
		w[i] -= 0.1 * g[i]
		state[i] += g[i]
	}
}

const flawVariable = "OPTIMIZERTEST_FLAW"

// TestFlawed is the exam of a flawed rule, in a process of its own: it is meant to fail.
func TestFlawed(t *testing.T) {
	flaw, ok := os.LookupEnv(flawVariable)
	if !ok {
		t.Skip("run by TestExamFindsFlaws")
	}
	var rule optimizer.Rule = flawed{flaw}
	switch flaw {
	case "rests":
		rule = restless{}
	case "rate":
		rule = deaf{}
	}
	exam := optimizertest.Exam{Twin: twin}
	if name, ok := strings.CutPrefix(flaw, "hoarder: "); ok {
		rule, exam = &hoarder{flaw: name}, optimizertest.Exam{Twin: momentumTwin}
		if name == "an address" {
			rule = &hoarder{Rate: new(float32)}
		}
		if name == "slots share memory" {
			exam.Twin = nil
		}
	}
	optimizertest.Run(t, rule, exam)
}

func TestExamFindsFlaws(t *testing.T) {
	for flaw, question := range map[string]string{
		"twin": "twin", "slices": "slices", "cut slices": "slices", "memo": "memo", "zero gradient": "zero_gradient",
		"touches only its slices": "touches_only_its_slices", "allocates nothing": "allocates_nothing", "a NaN shows": "a_NaN_shows",
		"rests": "rests", "rate": "rate", "hoarder: counts by itself": "goroutines", "hoarder: off by one": "twin", "hoarder: keeps its first state": "slices", "hoarder: an address": "prints",
		"hoarder: slots share memory": "uses_its_state", "hoarder: initial state": "initial_state", "hoarder: scratch": "prints",
	} {
		t.Run(flaw, func(t *testing.T) {
			out, err := examine(t, flaw)
			if err == nil || !strings.Contains(out, "--- FAIL: TestFlawed/"+question) {
				t.Errorf("the exam let it pass (%v):\n%s", err, out)
			}
		})
	}
	for _, flaw := range []string{"none", "hoarder: none"} {
		if out, err := examine(t, flaw); err != nil {
			t.Errorf("the exam fails a rule without a flaw: %v\n%s", err, out)
		}
	}
}

func examine(t *testing.T, flaw string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFlawed$", "-test.v")
	cmd.Env = append(os.Environ(), flawVariable+"="+flaw)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
