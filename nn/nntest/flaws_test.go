package nntest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/nntest"
)

const flawVariable = "NNTEST_FLAW"

// flawed is a layer of which one thing is wrong.
func flawed(flaw string) func(n int, dim func() int) nntest.Case {
	calls := 0
	return func(n int, dim func() int) nntest.Case {
		c := highway(n, dim)
		build := c.Build
		c.Build = func(in []*nn.Node) *nn.Node {
			calls++
			switch flaw {
			case "value":
				return nn.Scale(build(in), 1.0001, 0)
			case "gradient":
				in[1] = nn.Detach(in[1])
			case "gradient of examples":
				return nn.Add(build(in), nn.Subtract(in[0], nn.Detach(in[0])))
			case "other examples":
				rest := nn.InBatchSoftmax(in[0], in[0], nn.InBatchOptions{Temperature: 100})
				return nn.Add(build(in), nn.Scale(rest, 1e-3, 0))
			case "another graph":
				return nn.Add(build(in), nn.Scale(in[0], float32(calls)*1e-3, 0))
			}
			return build(in)
		}
		if flaw == "other examples" {
			c.Twin = nil
		}
		return c
	}
}

// TestFlawed is the exam of a flawed layer, in a process of its own: it is meant to fail.
func TestFlawed(t *testing.T) { underExam(t, flawed) }

func underExam(t *testing.T, of func(flaw string) func(n int, dim func() int) nntest.Case) {
	t.Helper()
	flaw, ok := os.LookupEnv(flawVariable)
	if !ok {
		t.Skip("run by a test of the exam")
	}
	nntest.Run(t, of(flaw))
}

func TestExamFindsFlaws(t *testing.T) {
	law.Slow(t)
	findsFlaws(t, "TestFlawed", map[string]string{
		"value": "formula", "gradient": "formula", "gradient of examples": "used_twice", "other examples": "own_values", "another graph": "own_values",
	})
}

// findsFlaws wants the exam to fail each flaw by the question that is for it, and to pass what has none.
func findsFlaws(t *testing.T, test string, flaws map[string]string) {
	t.Helper()
	for flaw, question := range flaws {
		t.Run(flaw, func(t *testing.T) {
			out, err := examine(t, test, flaw)
			asked := question != "allocates_nothing" || !strings.Contains(out, "the race detector allocates")
			if asked && (err == nil || !strings.Contains(out, "--- FAIL: "+test+"/"+question)) {
				t.Errorf("the exam let it pass (%v):\n%s", err, out)
			}
		})
	}
	if out, err := examine(t, test, "none"); err != nil {
		t.Errorf("the exam fails what has no flaw: %v\n%s", err, out)
	}
}

func examine(t *testing.T, test, flaw string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), flawVariable+"="+flaw)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
