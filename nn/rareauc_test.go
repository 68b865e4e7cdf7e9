package nn

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// sortedAUC is the AUC of scores as they are: the twin of every histogram.
func sortedAUC(scores []float32, positive []bool) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	var right, pos, neg float64 // pairs; of the scores below
	for at := 0; at < len(order); {
		var p, n float64
		for s := scores[order[at]]; at < len(order) && scores[order[at]] == s; at++ {
			if positive[order[at]] {
				p++
			} else {
				n++
			}
		}
		right += p * (neg + n/2)
		pos, neg = pos+p, neg+n
	}
	return right / (pos * neg)
}

// TestAUCOfRareEvents: of 50 positive labels or more, AUC is that of the sorted scores to 1e-4, whatever the rate and however wide the
// scores lie, counted by one executor or by two whose sums are added. The original's is far off where events are rare.
//
// Promise: [G2] AUC is that of the sorted scores to 1e-4, however rare the events, counted by one executor or
// several; other AUCs say when they can't tell scores apart
// Also: TestAUCOfCrowdedScores, TestCrowdedBuckets, TestEarlierAUC, TestOdds (internal/histogram),
// TestBucketErrorOfOdds (internal/histogram)
func TestAUCOfRareEvents(t *testing.T) {
	law.Slow(t)
	worst := 0.0
	for _, rate := range []float64{1e-4, 1e-3, 1e-2, 0.1, 0.5} {
		for _, spread := range law.Some(t, []float64{0.3, 1.5, 4}) {
			r := rand.New(rand.NewPCG(uint64(rate*1e6), uint64(spread*10)))
			n := int(60 / rate)
			scores, label, positive := make([]float32, n), make([]float32, n), make([]bool, n)
			for i := range scores {
				positive[i] = i < 60 || rate == 0.5 && i%2 == 0
				x := math.Log(rate/(1-rate)) + spread*r.NormFloat64()
				if positive[i] {
					x, label[i] = x+spread, 1
				}
				scores[i] = float32(1 / (1 + math.Exp(-x)))
			}
			g := NewGraph(1)
			p, y := g.Input("p", 1), g.Input("y", 1)
			fine, coarse := AUC(p, y), AUCOf(p, y, 4095)
			half := func(from, to int) (value []float32, sums []float64) {
				e := NewExecutor(g)
				out, err := e.Eval(t.Context(), batchOf{"p": floats([]int{to - from, 1}, scores[from:to]...),
					"y": floats([]int{to - from, 1}, label[from:to]...)}, fine, coarse)
				if err == nil {
					sums, err = e.Sums(fine)
				}
				law.Check(t, err)
				return []float32{out[0].Float32s()[0], out[1].Float32s()[0]}, sums
			}
			value, whole := half(0, n)
			_, a := half(0, n/3)
			_, b := half(n/3, n)
			for i := range a {
				a[i] += b[i]
			}
			if !slices.Equal(a, whole) {
				t.Errorf("rate %v, spread %v: sums of two executors are not those of one", rate, spread)
			}
			want := sortedAUC(scores, positive)
			added, err := fine.OfSums(a)
			for _, got := range []float64{float64(value[0]), added} {
				if math.Abs(got-want) > 1e-4 || err != nil {
					t.Errorf("rate %v, spread %v: AUC %v, that of the sorted scores is %v: %v", rate, spread, got, want, err)
				}
			}
			worst = max(worst, math.Abs(float64(value[1])-want))
		}
	}
	if worst < 0.01 {
		t.Errorf("4096 buckets are %v off at most: the test has no rare events", worst)
	}
}

// TestAUCOfCrowdedScores: of scores that are as near to each other as float32s can be, AUC and PRAUC are those of the sorted scores, with
// weights and without, of one executor and of two; above 100,000 scores AUC is that of buckets, however these are divided.
func TestAUCOfCrowdedScores(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, crowd := 50, 1+r.IntN(6000)
		if seed%50 == 0 {
			n = exactScores + 1 - int(seed/50)
		}
		scores, label, positive := make([]float32, n), make([]float32, n), make([]bool, n)
		for i := range scores {
			scores[i] = []float32{1, 0.5}[seed%2] - float32(r.IntN(crowd))*0x1p-24
			if positive[i] = i < 26; positive[i] {
				label[i] = 1
			}
		}
		g := NewGraph(1)
		p, y, w := g.Input("p", 1), g.Input("y", 1), g.Input("w", 1)
		metrics := []*Node{AUC(p, y), Weighted(AUC(p, y), w), PRAUC(p, y), Weighted(PRAUC(p, y), w)}
		fed := func(from, to int) batchOf {
			shape := []int{to - from, 1}
			return batchOf{"p": floats(shape, scores[from:to]...), "y": floats(shape, label[from:to]...),
				"w": floats(shape, slices.Repeat([]float32{2}, to-from)...)}
		}
		one, halves := NewExecutor(g), []*Executor{NewExecutor(g), NewExecutor(g)}
		out, err := one.Eval(t.Context(), fed(0, n), metrics...)
		law.Check(t, err)
		for i, e := range halves {
			_, err := e.Eval(t.Context(), fed([]int{0, 20}[i], []int{20, n}[i]), metrics...)
			law.Check(t, err)
		}
		area := sortedAUC(scores, positive)
		for i, m := range metrics {
			got, joined := float64(out[i].Float32s()[0]), joinedOf(t, m, halves...)
			if float32(joined) != float32(got) {
				t.Errorf("seed %d: %s of two executors is %v, of one %v", seed, m.Label(), joined, got)
			}
			if i < 2 && math.Abs(got-area) > 1e-4 {
				t.Errorf("seed %d: %s of %d scores is %v, that of the sorted scores is %v", seed, m.Label(), n, got, area)
			}
			if again := joinedOf(t, m, one); float32(again) != float32(got) {
				t.Errorf("seed %d: %s of one executor's scores is %v, fetched %v", seed, m.Label(), again, got)
			}
		}
	}
}

// joinedOf is a metric of what several executors have counted.
func joinedOf(t *testing.T, m *Node, executors ...*Executor) float64 {
	t.Helper()
	sums, all := make([]float64, m.SumsLen()), [][]byte(nil)
	for _, e := range executors {
		its, err := e.Sums(m)
		law.Check(t, err)
		for i, v := range its {
			sums[i] += v
		}
		scores, err := e.Scores(m)
		law.Check(t, err)
		all = append(all, scores)
	}
	v, err := m.OfSums(sums, all...)
	law.Check(t, err)
	return v
}

// BenchmarkAUC is a batch of an evaluation: the model alone, and with a metric.
func BenchmarkAUC(b *testing.B) {
	for _, rows := range []int{32, 512, 4096} {
		for name, metric := range map[string]func(p, y *Node) *Node{
			"none": func(p, y *Node) *Node { return p }, "4096": func(p, y *Node) *Node { return AUCOf(p, y, 4095) }, "fine": AUC,
		} {
			b.Run(fmt.Sprintf("%s/%d", name, rows), func(b *testing.B) {
				g := NewGraph(1)
				h := g.Input("x", 96)
				feed := batchOf{"x": floats([]int{rows, 96}, uniform(1, rows*96, -3, 3)...), "y": floats([]int{rows, 1}, uniform(2, rows, 0, 1)...)}
				for _, n := range []int{128, 64} {
					h = Linear(h, n, LinearOptions{Act: ReLU})
				}
				fetch := metric(Linear(h, 1, LinearOptions{Act: Sigmoid}), g.Input("y", 1))
				e := NewExecutor(g)
				for b.Loop() {
					if _, err := e.Eval(b.Context(), feed, fetch); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestCrowdedBuckets: metrics of 4096 buckets say once that they can't tell rare events apart, and nothing where they can, or where a
// dead model gives all one score.
func TestCrowdedBuckets(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for _, c := range []struct {
		low, high float64
		want      int
	}{{1e-6, 2e-5, 2}, {1e-4, 1e-2, 0}, {0, 1, 0}, {1e-5, 1e-5, 0}} {
		log.Reset()
		g := NewGraph(1)
		p, y := g.Input("p", 1), g.Input("y", 1)
		e := NewExecutor(g)
		fetch := []*Node{BatchAUC(p, y), SlidingAUC(p, y, 3), AUC(p, y)}
		for i := range 50 {
			feed := batchOf{"p": floats([]int{100, 1}, uniform(uint32(i), 100, c.low, c.high)...), "y": floats([]int{100, 1}, make([]float32, 100)...)}
			if _, err := e.Eval(t.Context(), feed, fetch...); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(log.String(), "half of the scores lie in one bucket"); n != c.want {
			t.Errorf("scores from %v to %v: told %d times, want %d: %s", c.low, c.high, n, c.want, log.String())
		}
	}
}

// TestEarlierAUC: a graph that was saved before AUC had finer buckets has the original's.
func TestEarlierAUC(t *testing.T) {
	for attrs, want := range map[string]int{"": 4096, "{}": 4096, `{"thresholds":200}`: 201, `{"thresholds":65535}`: 1 << 16} {
		o, err := recipes["auc"].make([]byte(attrs))
		law.Check(t, err)
		if h := o.(auc).tally(nil).(*Histogram); len(h.Pos) != want {
			t.Errorf("an AUC saved as %q has %d buckets, want %d", attrs, len(h.Pos), want)
		}
	}
}
