package nn

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

func unigram(t *testing.T, power float64, counts ...int64) *UnigramSampler {
	t.Helper()
	s, err := NewUnigramSampler(counts, power)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSamplers: probabilities follow their formulas, add up to 1, and are how often ids are drawn.
func TestSamplers(t *testing.T) {
	const draws = 200_000
	tests := map[string]struct {
		s    Sampler
		n    int64
		want func(id int64) float64
	}{
		"uniform":     {UniformSampler{7}, 7, func(int64) float64 { return 1. / 7 }},
		"log-uniform": {LogUniformSampler{9}, 9, func(id int64) float64 { return math.Log(float64(id+2)/float64(id+1)) / math.Log(10) }},
		"unigram":     {unigram(t, 1, 5, 0, 1, 2, 0), 5, func(id int64) float64 { return []float64{5. / 8, 0, 1. / 8, 2. / 8, 0}[id] }},
		"word2vec": {unigram(t, 0.75, 16, 81, 1), 3, func(id int64) float64 {
			return []float64{8. / 36, 27. / 36, 1. / 36}[id]
		}},
		"flattened": {unigram(t, 0, 9, 0, 1), 3, func(id int64) float64 { return []float64{0.5, 0, 0.5}[id] }},
		"one class": {UniformSampler{1}, 1, func(int64) float64 { return 1 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, seen := rand.New(rand.NewPCG(1, 2)), make([]int, test.n)
			for range draws {
				seen[test.s.Draw(r)]++
			}
			for id, n := range seen {
				want := test.want(int64(id))
				if p := test.s.Probability(int64(id)); math.Abs(p-want) > 1e-12 {
					t.Errorf("the probability of %d is %v, want %v", id, p, want)
				}
				deviation := math.Sqrt(want * (1 - want) / draws)
				if got := float64(n) / draws; math.Abs(got-want) > 5*deviation {
					t.Errorf("%d was drawn %d times, a share of %v; its probability is %v", id, n, got, want)
				}
			}
			if a, b := test.s.Probability(-1), test.s.Probability(test.n); a != 0 || b != 0 {
				t.Errorf("outside the classes probabilities are %v and %v", a, b)
			}
		})
	}
}

// TestUnigramColumns: what ids keep and are given makes up their probabilities, however uneven.
func TestUnigramColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		counts := make([]int64, 1+r.IntN(50))
		for i := range counts {
			counts[i] = int64(math.Exp(20*r.Float64())) - 1
		}
		counts[0]++
		s := unigram(t, 1, counts...)
		mass := make([]float64, len(counts))
		for i, keep := range s.keep {
			mass[i] += keep / float64(len(counts))
			mass[s.alias[i]] += (1 - keep) / float64(len(counts))
		}
		for i, m := range mass {
			if math.Abs(m-s.p[i]) > 1e-12 || counts[i] == 0 && m != 0 {
				t.Fatalf("counts %v: id %d is drawn with probability %v, not %v", counts, i, m, s.p[i])
			}
		}
	}
}

func TestUnigramRefuses(t *testing.T) {
	for want, counts := range map[string][]int64{"count 1 is -2": {3, -2}, "no class has": {0, 0}} {
		if _, err := NewUnigramSampler(counts, 0.75); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", counts, err, want)
		}
	}
	if _, err := NewUnigramSampler(nil, 1); err == nil {
		t.Error("no classes were taken")
	}
	if _, err := NewUnigramSampler([]int64{2}, math.Inf(1)); err == nil {
		t.Error("an infinite power was taken")
	}
}

func TestCandidates(t *testing.T) {
	s, ids, expected := unigram(t, 1, 1, 3), []int64{0, 9, 9}, make([]float32, 3)
	Candidates(s, rand.New(rand.NewPCG(1, 1)), ids, expected)
	if ids[0] != 0 || ids[1] > 1 || ids[2] > 1 {
		t.Errorf("ids are %v", ids)
	}
	for i, id := range ids {
		if want := float32(math.Log(2 * s.Probability(id))); expected[i] != want {
			t.Errorf("expected[%d] is %v, want %v", i, expected[i], want)
		}
	}
	Candidates(s, rand.New(rand.NewPCG(1, 1)), ids, nil) // negative sampling needs no counts
}

// TestSampledLossesFindTheDistribution: a table of scores trained by either loss, with candidates from an uneven sampler, becomes
// the logarithm of how often each class was true; without the sampler's counts it would not.
func TestSampledLossesFindTheDistribution(t *testing.T) {
	law.Slow(t)
	truth, noise := unigram(t, 1, 8, 4, 2, 1, 1), unigram(t, 1, 1, 1, 1, 3, 6)
	losses := map[string]func(scores, expected, ids *Node) *Node{
		"nce":             func(scores, expected, _ *Node) *Node { return NCE(scores, expected) },
		"sampled softmax": SampledSoftmax,
	}
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			got := learnScores(t, truth, noise, loss)
			for id := range got {
				if want := truth.Probability(int64(id)); math.Abs(got[id]-want) > 0.04 {
					t.Errorf("class %d has probability %.3f, want %.3f (%.3f)", id, got[id], want, got)
				}
			}
		})
	}
}

// learnScores returns the softmax of the scores learned.
func learnScores(t *testing.T, truth, noise Sampler, loss func(scores, expected, ids *Node) *Node) []float64 {
	const classes, k, n = 5, 8, 256
	g := NewGraph(1)
	ids, expected := g.IDs("ids", 1+k), g.Input("expected", 1+k)
	scores := Embedding(ids, EmbeddingOptions{Name: "score", Height: classes, Dim: 1, Init: optimizer.Constant{}})
	trained := minimise(t, Mean(loss(scores, expected, ids)), 1)
	e, r := NewExecutor(g), rand.New(rand.NewPCG(5, 6))
	batch, counts := make([]int64, n*(1+k)), make([]float32, n*(1+k))
	for range 800 {
		for i := 0; i < len(batch); i += 1 + k {
			batch[i] = truth.Draw(r)
			Candidates(noise, r, batch[i:i+1+k], counts[i:i+1+k])
		}
		must(t, e, batchOf{"ids": int64sOf([]int{n, 1 + k}, batch...), "expected": floats([]int{n, 1 + k}, counts...)})
	}
	row := make([]float64, classes)
	for id := range row {
		row[id] = float64(trained.rows["score"][uint64(id)][0])
	}
	return softmax64(row)
}
