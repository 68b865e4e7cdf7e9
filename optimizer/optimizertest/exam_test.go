package optimizertest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
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

// restless says that it rests when it doesn't.
type restless struct{ flawed }

func (restless) Sweeps() bool                  { return true }
func (restless) Rests(_, state []float32) bool { return true }
func (restless) Update(w, _, _ []float32, _ *optimizer.State) {
	for i := range w {
		w[i]++
	}
}

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
	if flaw == "rests" {
		rule = restless{}
	}
	optimizertest.Run(t, rule, optimizertest.Exam{Twin: twin})
}

func TestExamFindsFlaws(t *testing.T) {
	for flaw, question := range map[string]string{
		"twin": "twin", "slices": "slices", "cut slices": "slices", "memo": "memo", "zero gradient": "zero_gradient",
		"touches only its slices": "touches_only_its_slices", "allocates nothing": "allocates_nothing", "a NaN shows": "a_NaN_shows",
		"rests": "rests",
	} {
		t.Run(flaw, func(t *testing.T) {
			out, err := examine(t, flaw)
			if err == nil || !strings.Contains(out, "--- FAIL: TestFlawed/"+question) {
				t.Errorf("the exam let it pass (%v):\n%s", err, out)
			}
		})
	}
	if out, err := examine(t, "none"); err != nil {
		t.Errorf("the exam fails a rule without a flaw: %v\n%s", err, out)
	}
}

func examine(t *testing.T, flaw string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFlawed$", "-test.v")
	cmd.Env = append(os.Environ(), flawVariable+"="+flaw)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
