package mode

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/script"
)

// TestLocalSGDScript plays testdata/localsgd.script: steps that end, and meetings with their rate and loss.
func TestLocalSGDScript(t *testing.T) {
	script.Play(t, "localsgd.script", func(t *testing.T, lines iter.Seq[script.Line]) {
		var l LocalSGD
		for line := range lines {
			switch line.Words[0] {
			case "every", "adaptive":
				l = LocalSGD{K: script.Number(t, line.Words[1]), Begin: script.Number(t, line.Words[2]), Adaptive: line.Words[0] == "adaptive"}
			case "step":
				line.Check(t, map[bool]string{true: "meet"}[l.Step()])
			case "met":
				said := meeting(t, &l, line.Words[1:])
				if !strings.HasPrefix(said, line.Want) || line.Want == "" && said != "" {
					line.Check(t, said)
				}
			default:
				line.Unknown(t)
			}
		}
	})
}

// meeting tells of one, and returns what an adaptive worker makes of it.
func meeting(t *testing.T, l *LocalSGD, words []string) string {
	var lr, loss float32
	if len(words) > 0 {
		lr, loss = float(t, words[0]), float(t, words[1])
	}
	if err := l.Met(float64(lr), float64(loss)); err != nil {
		return err.Error()
	}
	if !l.Adaptive {
		return ""
	}
	return fmt.Sprint("every ", l.K)
}

// TestDriftsAreMeans: what workers have drifted, averaged and taken back, is the mean of their copies.
func TestDriftsAreMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "weights")
		vector := func(name string) []float32 { return rapid.SliceOfN(rapid.Float32Range(-8, 8), n, n).Draw(t, name) }
		snapshot, copies := vector("snapshot"), make([][]float32, rapid.IntRange(1, 4).Draw(t, "workers"))
		mean, want := make([]float32, n), make([]float64, n)
		for i := range copies {
			copies[i] = vector("copy")
			d := make([]float32, n)
			Drift(d, snapshot, copies[i])
			for j := range d {
				mean[j] += d[j] / float32(len(copies))
				want[j] += float64(copies[i][j]) / float64(len(copies))
			}
		}
		Return(snapshot, mean)
		for j := range want {
			if math.Abs(float64(snapshot[j])-want[j]) > 1e-5 {
				t.Fatalf("weight %d is %v, the mean is %v", j, snapshot[j], want[j])
			}
		}
	})
}

// TestResumeOfAFixedK: what an adaptive job has learnt is not for one whose k is given.
func TestResumeOfAFixedK(t *testing.T) {
	fixed, learns := LocalSGD{K: 4}, LocalSGD{K: 4, Adaptive: true}
	for _, l := range []*LocalSGD{&fixed, &learns} {
		l.Resume(10, Pace{K: 2, LR: 0.1, Loss: 1})
	}
	if fixed.K != 4 || learns.K != 2 {
		t.Errorf("behind a checkpoint workers meet every %d steps, want 4; adaptive ones every %d, want 2", fixed.K, learns.K)
	}
}
