package mode

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLocalSGDScript plays testdata/localsgd.script: steps that end, and meetings with their rate and loss.
func TestLocalSGDScript(t *testing.T) {
	scripts(t, "localsgd.script", func(t *testing.T, lines iter.Seq[line]) {
		var l LocalSGD
		for line := range lines {
			switch line.words[0] {
			case "every", "adaptive":
				l = LocalSGD{K: number(t, line.words[1]), Begin: number(t, line.words[2]), Adaptive: line.words[0] == "adaptive"}
			case "step":
				line.check(t, map[bool]string{true: "meet"}[l.Step()])
			case "met":
				said := meeting(t, &l, line.words[1:])
				if !strings.HasPrefix(said, line.want) || line.want == "" && said != "" {
					line.check(t, said)
				}
			default:
				line.unknown(t)
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
