package nn

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// threads is a trainer of several threads that counts what they do.
type threads struct {
	steps, samples, closed, epochs atomic.Int64

	mu   sync.Mutex
	fail map[int64]error   // by number of the step
	own  map[*float32]bool // the first params' arrays, of the threads that are open
}

func (k *threads) Open(params []*optimizer.Param) (optimizer.Session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	dense := slices.IndexFunc(params, func(p *optimizer.Param) bool { return len(p.W) > 0 })
	w := &params[dense].W[0]
	if k.own[w] {
		return nil, errors.New("two threads work on the same arrays")
	}
	k.own[w] = true
	return &oneThread{k, w}, nil
}

func (k *threads) EndEpoch(context.Context) error { k.epochs.Add(1); return nil }

type oneThread struct {
	k *threads
	w *float32
}

func (s *oneThread) Begin(ctx context.Context, _ *optimizer.Step) error { return ctx.Err() }
func (s *oneThread) End(_ context.Context, st *optimizer.Step) error {
	s.k.samples.Add(int64(st.Samples))
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	return s.k.fail[s.k.steps.Add(1)]
}
func (s *oneThread) Close(context.Context) error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	delete(s.k.own, s.w)
	s.k.closed.Add(1)
	return nil
}

func newThreads(n *toy) *threads {
	k := &threads{own: map[*float32]bool{}}
	n.loss.Bind(k)
	return k
}

// TestTrainThreads: every thread trains on its own batches and weights, and the result is of all.
func TestTrainThreads(t *testing.T) {
	n := newToy(1)
	k := newThreads(n)
	sizes := [][]int{{5, 9}, {30}, {}, {2, 2, 2, 2}}
	res, err := TrainThreads(t.Context(), n.g, 4, func(thread int) stream { return recycled(n.batches(sizes[thread]...)) },
		TrainOptions{Fetch: []*Node{n.auc, n.pred}})
	law.Check(t, err)
	if k.steps.Load() != 7 || k.samples.Load() != 52 || k.closed.Load() != 4 || k.epochs.Load() != 1 {
		t.Errorf("%d steps, %d samples, %d sessions closed, %d epochs", k.steps.Load(), k.samples.Load(), k.closed.Load(), k.epochs.Load())
	}
	if res.Steps != 7 || res.Samples != 52 || len(res.Last()) != 2 || res.Last()[1].Shape()[0] != 9 || !(res.Loss > 0) {
		t.Errorf("the result is %+v", res)
	}
	want, err := NewExecutor(n.g).TrainFrom(t.Context(), recycled(n.batches(slices.Concat(sizes...)...)), TrainOptions{})
	if err != nil || want.Samples != res.Samples {
		t.Errorf("%+v, %v", want, err)
	}
}

// TestTrainThreadsFails: one thread's error ends the others, and the epoch does not end.
func TestTrainThreadsFails(t *testing.T) {
	n := newToy(1)
	k := newThreads(n)
	k.fail = map[int64]error{6: errors.New("server 1 is gone")}
	endless := func(int) stream {
		return func(yield func(map[string]*tensor.Dense, error) bool) {
			for b := n.batch(0, 4); yield(b, nil); {
			}
		}
	}
	_, err := TrainThreads(t.Context(), n.g, 3, endless, TrainOptions{})
	if !errors.Is(err, k.fail[6]) || !strings.Contains(err.Error(), "thread ") || k.closed.Load() != 3 || k.epochs.Load() != 0 {
		t.Errorf("%v, %d sessions closed, %d epochs", err, k.closed.Load(), k.epochs.Load())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	tired := errors.New("tired")
	cancel(tired)
	if _, err := TrainThreads(ctx, n.g, 2, endless, TrainOptions{}); !errors.Is(err, tired) {
		t.Errorf("%v, want the cause of the context's end", err)
	}
	if _, err := TrainThreads(t.Context(), n.g, 0, endless, TrainOptions{}); err == nil {
		t.Error("no thread, no error")
	}
	if _, err := TrainThreads(t.Context(), newToy(1).g, 2, endless, TrainOptions{}); err == nil || !strings.Contains(err.Error(), "nothing to train") {
		t.Errorf("without a trainer: %v", err)
	}
}

// TestTrainThreadsReports: progress is of all threads, told by the first.
func TestTrainThreadsReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("FLEET_PROGRESS", "plain")
		n, out := newToy(1), &bytes.Buffer{}
		newThreads(n)
		_, err := TrainThreads(t.Context(), n.g, 2, func(int) stream { return slowly(slices.Repeat(n.batches(50), 100)) },
			TrainOptions{Fetch: []*Node{n.auc}, Progress: &Progress{Out: out, Total: 10_000, Every: time.Second}})
		law.Check(t, err)
		lines := strings.Split(out.String(), "\n") // at 1 and 2 s, and the end
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "4") || !strings.Contains(lines[0], "/10,000") || !strings.Contains(lines[0], "  auc 0.") ||
			!strings.HasPrefix(lines[2], "10,000 examples in 2.0s  5,000 examples/s") {
			t.Errorf("wrote %q", lines)
		}
	})
}

// TestThreadsWaitInVirtualTime: threads that are paused by one of them, or wait for its hook, take no time, and no thread makes a step
// then.
func TestThreadsWaitInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGraph(1)
		loss := Mean(SquareError(Linear(g.Input("x", 1), 1, LinearOptions{}), g.Input("y", 1)))
		k := &threads{own: map[*float32]bool{}}
		loss.Bind(k)
		began, pauses := time.Now(), 0
		_, err := TrainThreads(t.Context(), g, 4, func(int) stream {
			return func(yield func(batchOf, error) bool) {
				for range 3 {
					time.Sleep(time.Second)
					if !yield(batchOf{"x": floats([]int{2, 1}, 1, 2), "y": floats([]int{2, 1}, 1, 2)}, nil) {
						return
					}
				}
			}
		}, TrainOptions{Step: func(_ context.Context, so TrainResult) error {
			defer so.Still()()
			made := k.steps.Load()
			time.Sleep(10 * time.Second)
			if pauses++; k.steps.Load() != made {
				t.Errorf("%d steps were made in a pause", k.steps.Load()-made)
			}
			return nil
		}})
		if took := time.Since(began); err != nil || pauses != 12 || took < 2*time.Minute || took > 130*time.Second {
			t.Errorf("%d pauses took %v: %v", pauses, took, err)
		}
	})
}

// TestNothingIsNoProgress: a loop that ends before its first step has no rate and no loss to tell.
func TestNothingIsNoProgress(t *testing.T) {
	broken := errors.New("broken")
	for _, style := range []string{"plain", "live"} {
		t.Setenv("FLEET_PROGRESS", style)
		n, out := newToy(1), &bytes.Buffer{}
		newThreads(n)
		fails := func(yield func(map[string]*tensor.Dense, error) bool) { yield(nil, broken) }
		o := TrainOptions{Progress: &Progress{Out: out, Label: "epoch 1/2", Logger: slog.New(slog.NewTextHandler(out, nil))}}
		_, err := NewExecutor(n.g).TrainFrom(t.Context(), fails, o)
		_, threads := TrainThreads(t.Context(), n.g, 2, func(int) stream { return fails }, o)
		if !errors.Is(err, broken) || !errors.Is(threads, broken) || out.Len() > 0 {
			t.Errorf("%s: errors %v and %v; wrote %q", style, err, threads, out)
		}
	}
}

// TestThreadsOfNothing: that all threads have no batches is an error, unless they may.
func TestThreadsOfNothing(t *testing.T) {
	n := newToy(1)
	k := newThreads(n)
	none := func(int) stream { return recycled(nil) }
	if _, err := TrainThreads(t.Context(), n.g, 3, none, TrainOptions{}); !errors.Is(err, ErrNoBatches) || k.epochs.Load() != 0 {
		t.Errorf("got %v, %d epochs", err, k.epochs.Load())
	}
	if _, err := TrainThreads(t.Context(), n.g, 3, none, TrainOptions{MayBeEmpty: true}); err != nil || k.epochs.Load() != 1 {
		t.Errorf("where there may be none: %v, %d epochs", err, k.epochs.Load())
	}
}

// metricsOfAll is what a training loop fetches of a net of two probabilities, and how it is read.
func metricsOfAll() (g *Graph, loss *Node, fetch []*Node) {
	g = NewGraph(1)
	p, y := g.Input("p", 2), g.IDs("y", 1)
	loss = Mean(Add(Linear(p, 1, LinearOptions{}), Linear(p, 1, LinearOptions{})))
	score := Sigmoid(Reshape(Sum(p, 1), 1))
	label := Cast(y, Float32)
	return g, loss, []*Node{AUC(p, y), Accuracy(p, y), MAE(score, label), RMSE(score, label), BucketError(p, y), SlidingAUC(p, y, 1000),
		Recall(p, y), BatchAUC(p, y), BatchAccuracy(p, y)}
}

// TestThreadsCountTogether: metrics are of the examples of all threads, in reports, in the result and in its counts, as if one loop had
// seen them; those of a batch are one thread's. Each thread alone has labels of one class, of which there is no AUC.
func TestThreadsCountTogether(t *testing.T) {
	g, loss, fetch := metricsOfAll()
	loss.Bind(&threads{own: map[*float32]bool{}})
	part := func(thread int) []batchOf {
		var all []batchOf
		for i := range 20 * (1 + thread) {
			seed := uint32(100*thread + i)
			p, y := uniform(seed, 32, 0, 1), integers(seed, 16, 1)
			for j := range y {
				y[j] = int64(thread % 2)
				p[2*j] = 1 - p[2*j+1]
			}
			all = append(all, batchOf{"p": floats([]int{16, 2}, p...), "y": int64sOf([]int{16, 1}, y...)})
		}
		return all
	}
	apart, err := TrainThreads(t.Context(), g, 3, func(thread int) stream { return recycled(part(thread)) }, TrainOptions{Fetch: fetch})
	law.Check(t, err)
	joined, err := NewExecutor(g).TrainFrom(t.Context(), recycled(slices.Concat(part(0), part(1), part(2))), TrainOptions{Fetch: fetch})
	law.Check(t, err)
	for i, n := range fetch[:7] {
		got, want := apart.Last()[i].Float32s(), joined.Last()[i].Float32s()
		if err := near(got, want, 1e-5, 1e-6); err != nil || got[0] <= 0 || got[0] >= 1 {
			t.Errorf("%v: %v", n, err)
		}
	}
	for i, want := range map[int]float32{7: 0.5, 8: 0} {
		if got := apart.Last()[i].Float32s()[0]; (got == want) != (i == 7) || got == apart.Last()[1].Float32s()[0] {
			t.Errorf("%v is %v", fetch[i], got)
		}
	}
	pos, neg, err := apart.Histogram(fetch[0])
	wantPos, wantNeg, errs := joined.Histogram(fetch[0])
	if !slices.Equal(pos, wantPos) || !slices.Equal(neg, wantNeg) || slices.Max(pos) == 0 || errors.Join(err, errs) != nil {
		t.Errorf("histograms differ: %v, %v", err, errs)
	}
	if hit, total, err := apart.Hits(fetch[1]); total != 16*120 || hit <= 0 || hit >= total || err != nil {
		t.Errorf("%d of %d are right: %v", hit, total, err)
	}
	if abs, sqr, n, err := apart.Errors(fetch[2]); n != 16*120 || !(sqr > 0 && abs > sqr) || err != nil {
		t.Errorf("errors %v and %v of %d: %v", abs, sqr, n, err)
	}
}

// TestCountsOfAResult: what was not fetched has no counts, and what counts otherwise is refused.
func TestCountsOfAResult(t *testing.T) {
	g, loss, fetch := metricsOfAll()
	loss.Bind(still{})
	feed := batchOf{"p": floats([]int{1, 2}, .5, .5), "y": int64sOf([]int{1, 1}, 1)}
	res, err := NewExecutor(g).TrainFrom(t.Context(), recycled([]batchOf{feed}), TrainOptions{Fetch: fetch[:3]})
	law.Check(t, err)
	for n, want := range map[*Node]string{nil: "nil", fetch[4]: "TrainOptions.Fetch", fetch[1]: "is not an AUC"} {
		if _, _, err := res.Histogram(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Histogram of %v: %v", n, err)
		}
	}
	if _, _, err := res.Hits(fetch[0]); err == nil || !strings.Contains(err.Error(), "no right answers") {
		t.Errorf("Hits: %v", err)
	}
	if _, _, _, err := res.Errors(fetch[0]); err == nil || !strings.Contains(err.Error(), "no errors") {
		t.Errorf("Errors: %v", err)
	}
	if _, _, err := (TrainResult{}).Hits(fetch[1]); err == nil {
		t.Error("an empty result has counts")
	}
	if _, _, _, err := (TrainResult{}).Errors(nil); err == nil {
		t.Error("no node has errors")
	}
}

// TestFirstThreadWithoutSteps: the result has fetches of a thread that made steps, and any thread's step is reported.
func TestFirstThreadWithoutSteps(t *testing.T) {
	t.Setenv("FLEET_PROGRESS", "plain")
	n, out := newToy(1), &bytes.Buffer{}
	newThreads(n)
	res, err := TrainThreads(t.Context(), n.g, 2, func(thread int) stream { return recycled(n.batches([][]int{{}, {3, 4}}[thread]...)) },
		TrainOptions{Fetch: []*Node{n.pred}, Progress: &Progress{Out: out, Steps: 1}})
	if err != nil || len(res.Last()) != 1 || res.Last()[0].Shape()[0] != 4 {
		t.Errorf("%v, %v", res.Last(), err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 3 {
		t.Errorf("%d lines: %q", lines, out)
	}
}
