package nn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

type stream = iter.Seq2[map[string]*tensor.Dense, error]

// recycled yields the batches, and scribbles over each as early as it may: before the second after it is yielded.
func recycled(batches []batchOf) stream {
	return func(yield func(map[string]*tensor.Dense, error) bool) {
		for i, b := range batches {
			if i >= 2 {
				scribble(batches[i-2])
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

func scribble(b batchOf) {
	for _, t := range b {
		switch t.Dtype() {
		case tensor.Int64:
			for i := range t.Int64s() {
				t.Int64s()[i] = -1
			}
		default:
			for i := range t.Float32s() {
				t.Float32s()[i] = float32(math.NaN())
			}
		}
	}
}

func (n *toy) batches(sizes ...int) []batchOf {
	var all []batchOf
	for i, size := range sizes {
		all = append(all, n.batch(uint32(10*i), size))
	}
	return all
}

// TestAStepMayEvaluate: an evaluation by the executor that trains, behind a step of its loop, changes no bit of what is
// trained, though the loop has taken the next batch already.
//
// Promise: [G2] an evaluation between the steps of a loop, by the executor that trains, changes no bit of the model
func TestAStepMayEvaluate(t *testing.T) {
	sizes := []int{16, 16, 7, 32, 16, 1}
	train := func(step func(n *toy, e *Executor) error) *keeper {
		n := newToy(1)
		k := minimise(t, n.loss, 0.1)
		e := NewExecutor(n.g)
		o := TrainOptions{Step: func(context.Context, TrainResult) error { return step(n, e) }}
		if _, err := e.TrainFrom(t.Context(), recycled(n.batches(sizes...)), o); err != nil {
			t.Fatal(err)
		}
		return k
	}
	plain := train(func(*toy, *Executor) error { return nil })
	looked := train(func(n *toy, e *Executor) error {
		_, err := e.Eval(t.Context(), n.batch(500, 9), n.loss)
		return err
	})
	for name, w := range plain.dense {
		if !slices.Equal(w, looked.dense[name]) {
			t.Errorf("%s: %v where steps evaluate, %v without", name, looked.dense[name], w)
		}
	}
}

// TestTrainFromIsTrain: the loop ends with the same weights as steps by hand, over uneven batches that are overwritten as
// early as they may be.
func TestTrainFromIsTrain(t *testing.T) {
	n := newToy(1)
	sizes := []int{16, 16, 16, 32, 7, 1}
	byHand := minimise(t, n.loss, 0.1)
	e, mean := NewExecutor(n.g), 0.0
	for i, b := range n.batches(sizes...) {
		mean += float64(must(t, e, b, n.loss)[0].Float32s()[0]) * float64(sizes[i]) / 88
	}
	m := newToy(1)
	byLoop := minimise(t, m.loss, 0.1)
	res, err := NewExecutor(m.g).TrainFrom(t.Context(), recycled(m.batches(sizes...)), TrainOptions{Fetch: []*Node{m.pred, m.auc}})
	law.Check(t, err)
	for name, w := range byHand.dense {
		if err := near(byLoop.dense[name], w, 0, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if res.Steps != 6 || res.Samples != 88 || math.Abs(res.Loss-mean) > 1e-6 || len(res.Last()) != 2 || res.Last()[0].Shape()[0] != 1 {
		t.Errorf("result is %+v, want a loss of %v", res, mean)
	}
	if byLoop.epochs != 1 || byHand.epochs != 0 {
		t.Errorf("%d and %d epochs ended", byLoop.epochs, byHand.epochs)
	}
}

// TestTrainFromLooksAhead: in every step but the last, Next is what the next step asks for.
func TestTrainFromLooksAhead(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	if _, err := NewExecutor(n.g).TrainFrom(t.Context(), recycled(n.batches(5, 9, 2, 30)), TrainOptions{}); err != nil {
		t.Fatal(err)
	}
	k.checkNext(t)
}

// unhurried is a keeper that notes in End which ids come next: no earlier are they collected, beside the step.
type unhurried struct{ *keeper }

func (unhurried) Looks() bool { return false }

func (u unhurried) Open(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := u.keeper.Open(params)
	return ending{s, u.keeper}, err
}

type ending struct {
	optimizer.Session
	k *keeper
}

func (e ending) End(ctx context.Context, st *optimizer.Step) error {
	for _, r := range st.Rows {
		next := e.k.next[r.Param.Name]
		next[len(next)-1] = slices.Clone(r.Next)
	}
	return e.Session.End(ctx, st)
}

// TestTrainFromAside: what cores do beside a step, on one core and on several, has the metrics and the weights of steps
// by hand, and the next batch's ids are known in End.
func TestTrainFromAside(t *testing.T) {
	for _, cores := range []int{1, 4} {
		onCores(t, cores)
		byHand, byLoop := newToy(1), newToy(1)
		one, k := minimise(t, byHand.loss, 0.1), newKeeper(t, 0.1)
		byLoop.loss.Bind(unhurried{k})
		e, want := NewExecutor(byHand.g), []float32{}
		for _, b := range byHand.batches(5, 9, 2, 30) {
			want = append(want, must(t, e, b, byHand.auc)[0].Float32s()[0])
		}
		var got []float32
		_, err := NewExecutor(byLoop.g).TrainFrom(t.Context(), recycled(byLoop.batches(5, 9, 2, 30)), TrainOptions{Fetch: []*Node{byLoop.auc},
			Step: func(_ context.Context, so TrainResult) error {
				got = append(got, so.Last()[0].Float32s()[0])
				return nil
			}})
		law.Check(t, err)
		if !slices.Equal(got, want) || slices.Contains(got, 0) {
			t.Errorf("%d cores: AUCs %v, want %v", cores, got, want)
		}
		for name, w := range one.dense {
			if !slices.Equal(k.dense[name], w) {
				t.Errorf("%d cores: other weights of %s", cores, name)
			}
		}
		k.checkNext(t)
	}
}

// checkNext checks what four steps said comes next.
func (k *keeper) checkNext(t *testing.T) {
	t.Helper()
	for _, table := range []string{"shared", "open"} {
		asked, next := k.asked[table], k.next[table]
		if len(asked) != 4 || next[3] != nil {
			t.Fatalf("%d steps, the last says %v comes next", len(asked), next[len(next)-1])
		}
		for i := range 3 {
			if len(next[i]) == 0 || !slices.Equal(next[i], asked[i+1]) {
				t.Errorf("step %d says %v come next, step %d asks for %v", i, next[i], i+1, asked[i+1])
			}
		}
	}
}

func TestTrainFromNothing(t *testing.T) {
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	o := TrainOptions{Fetch: []*Node{n.auc}, Progress: &Progress{Out: &bytes.Buffer{}}}
	res, err := NewExecutor(n.g).TrainFrom(t.Context(), recycled(nil), o)
	if !errors.Is(err, ErrNoBatches) || res.Steps != 0 || res.Last() != nil || res.Rate() != 0 || k.epochs != 0 {
		t.Errorf("%+v, %v, %d epochs", res, err, k.epochs)
	}
	o.MayBeEmpty = true
	res, err = NewExecutor(n.g).TrainFrom(t.Context(), recycled(nil), o)
	if err != nil || res.Steps != 0 || k.epochs != 1 {
		t.Errorf("where there may be none: %+v, %v, %d epochs", res, err, k.epochs)
	}
}

// TestTrainFromErrors: they stop the loop, and the epoch does not end.
func TestTrainFromErrors(t *testing.T) {
	broken := errors.New("flights.csv:17: 12 fields, want 13")
	failing := func(b []batchOf) stream {
		return func(yield func(map[string]*tensor.Dense, error) bool) {
			for batch, err := range recycled(b) {
				if !yield(batch, err) {
					return
				}
			}
			yield(nil, broken)
		}
	}
	n := newToy(1)
	k := minimise(t, n.loss, 0.1)
	e := NewExecutor(n.g)
	res, err := e.TrainFrom(t.Context(), failing(n.batches(4, 4, 4)), TrainOptions{})
	if !errors.Is(err, broken) || res.Steps != 2 || k.epochs != 0 {
		t.Errorf("%v after %d steps, %d epochs", err, res.Steps, k.epochs)
	}
	bad := n.batches(4, 4)
	delete(bad[1], "x")
	if _, err := e.TrainFrom(t.Context(), recycled(bad), TrainOptions{}); !strings.Contains(unplaced(err), `"x" is missing`) {
		t.Errorf("got %v", err)
	}
	k.fail = errors.New("server 0 is gone")
	if _, err := e.TrainFrom(t.Context(), recycled(n.batches(4, 4)), TrainOptions{}); !errors.Is(err, k.fail) {
		t.Errorf("got %v", err)
	}
	if _, err := NewExecutor(newToy(1).g).TrainFrom(t.Context(), recycled(nil), TrainOptions{}); err == nil {
		t.Error("nothing to train, no error")
	}
}

// TestTrainFromAllocatesNothing: a longer epoch allocates no more than a short one.
func TestTrainFromAllocatesNothing(t *testing.T) {
	countsAllocations(t)
	n := newToy(1)
	n.loss.Bind(still{})
	e, feeds, ctx := NewExecutor(n.g), n.batches(64, 64, 64), t.Context()
	fetch := []*Node{n.auc}
	epoch := func(steps int) float64 {
		return testing.AllocsPerRun(5, func() {
			batches := func(yield func(map[string]*tensor.Dense, error) bool) {
				for i := range steps {
					if !yield(feeds[i%3], nil) {
						return
					}
				}
			}
			if _, err := e.TrainFrom(ctx, batches, TrainOptions{Fetch: fetch}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := epoch(10), epoch(110); long > short+10 { // a garbage collection may empty the kernels' pools
		t.Errorf("100 more steps allocate %v times more", long-short)
	}
}

// slowly yields a batch every 20 ms of fake time.
func slowly(batches []batchOf) stream {
	return func(yield func(map[string]*tensor.Dense, error) bool) {
		for _, b := range batches {
			time.Sleep(20 * time.Millisecond)
			if !yield(b, nil) {
				return
			}
		}
	}
}

// report trains 400 batches of 50 in 8 s of fake time and returns what Progress wrote. A step runs when the batch after it
// is there, so that reports are one batch behind the clock.
func (n *toy) report(t *testing.T, p Progress) string {
	var out bytes.Buffer
	p.Out = &out
	n.loss.Bind(still{})
	batches := slices.Repeat(n.batches(50), 400)
	if _, err := NewExecutor(n.g).TrainFrom(t.Context(), slowly(batches), TrainOptions{Fetch: []*Node{n.auc, n.pred}, Progress: &p}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestProgressPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("FLEET_PROGRESS", "")
		lines := strings.Split(newToy(1).report(t, Progress{Label: "epoch 1/2", Total: 20000, Every: 2 * time.Second}), "\n")
		if len(lines) != 6 || lines[5] != "" { // at 2, 4, 6 and 8 s, and the end
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for i, want := range []string{"epoch 1/2  24%  2,4", "epoch 1/2  49%  2,4", "epoch 1/2  74%  2,4"} {
			if !strings.HasPrefix(lines[i], want) || strings.Contains(lines[i], "\r") {
				t.Errorf("line %d is %q", i, lines[i])
			}
		}
		for _, want := range []string{"examples/s  loss 0.", "  auc 0.", "4.0s left", "9,950/20,000"} {
			if !strings.Contains(lines[1], want) {
				t.Errorf("%q does not say %q", lines[1], want)
			}
		}
		if !strings.HasPrefix(lines[4], "epoch 1/2  20,000 examples in 8.0s  2,500 examples/s  loss 0.") {
			t.Errorf("the end is %q", lines[4])
		}
	})
}

func TestProgressEverySteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("FLEET_PROGRESS", "plain")
		if out := newToy(1).report(t, Progress{Steps: 100, Every: time.Hour}); strings.Count(out, "\n") != 5 || strings.Contains(out, "%") {
			t.Errorf("wrote %q", out)
		}
	})
}

// TestProgressLive: one line that is replaced at most ten times a second and never wraps.
func TestProgressLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("FLEET_PROGRESS", "live")
		t.Setenv("COLUMNS", "")
		out := newToy(1).report(t, Progress{Label: strings.Repeat("long ", 12), Total: 20000})
		draws := strings.Split(out, "\r\x1b[K")
		if len(draws) != 82 || strings.Count(out, "\n") != 1 || !strings.HasSuffix(out, "\n") { // 80 in 8 s, and the end
			t.Errorf("%d draws, %d lines", len(draws)-1, strings.Count(out, "\n"))
		}
		for _, d := range draws[:len(draws)-1] {
			if len([]rune(d)) > 79 {
				t.Errorf("%q is %d wide", d, len(d))
			}
		}
	})
}

// TestLineWidth: without a terminal, COLUMNS tells how wide a line may be, one column being the cursor's.
func TestLineWidth(t *testing.T) {
	for columns, want := range map[string]int{"": 79, "60": 59, "200": 199, "1": 79, "-3": 79, "wide": 79} {
		t.Setenv("COLUMNS", columns)
		if got := lineWidth(new(strings.Builder)); got != want {
			t.Errorf("COLUMNS=%s gives lines of %d, want %d", columns, got, want)
		}
	}
}

func TestProgressOffStillLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("FLEET_PROGRESS", "off")
		var records bytes.Buffer
		out := newToy(1).report(t, Progress{Label: "epoch 1", Total: 20000, Logger: slog.New(slog.NewTextHandler(&records, nil))})
		if out != "" {
			t.Errorf("wrote %q", out)
		}
		lines := strings.Split(records.String(), "\n")
		for _, want := range []string{`label="epoch 1"`, "steps=249", "examples=12450", "examples_per_second=249", "loss=0.", "auc=0.", "left=3.0"} {
			if len(lines) != 3 || !strings.Contains(lines[0], want) { // after 5 s, and the end
				t.Errorf("%q does not say %q", lines, want)
			}
		}
	})
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{1500 * time.Millisecond: "1.5s", 83 * time.Second: "1m23s"} {
		if got := spoken(d); got != want {
			t.Errorf("spoken(%d) = %q, want %q", d, got, want)
		}
	}
}

// resuming is a trainer whose weights have so many samples of each thread's share.
type resuming struct {
	*local.Trainer
	mu      sync.Mutex
	trained map[int]int
}

func (r *resuming) Passed(thread, _, samples int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trained[thread] < samples {
		return false
	}
	r.trained[thread] -= samples
	return true
}

// TestTrainFromTheMiddle: batches that are in the weights are passed over, also when they are all, and results and reports say so.
func TestTrainFromTheMiddle(t *testing.T) {
	for trained, want := range map[int]TrainResult{0: {Steps: 3, Samples: 6}, 4: {Steps: 1, Samples: 2, Passed: 4}, 6: {Passed: 6}} {
		for threads := 1; threads <= 2; threads++ {
			n := newToy(1)
			trainer, err := local.New(n.loss.Params(), optimizer.SGD{LR: 0.1})
			law.Check(t, err)
			n.loss.Bind(&resuming{Trainer: trainer, trained: map[int]int{0: trained, 1: trained}})
			var out bytes.Buffer
			o := TrainOptions{Progress: &Progress{Out: &out, Total: 6 * threads, Steps: 1}}
			batches := func(int) stream { return recycled(n.batches(2, 2, 2)) }
			var got TrainResult
			if threads == 1 {
				got, err = NewExecutor(n.g).TrainFrom(t.Context(), batches(0), o)
			} else {
				got, err = TrainThreads(t.Context(), n.g, threads, batches, o)
			}
			if err != nil || got.Steps != threads*want.Steps || got.Samples != threads*want.Samples || got.Passed != threads*want.Passed {
				t.Errorf("%d threads after %d samples: %+v, error %v", threads, trained, got, err)
			}
			said := out.String()
			passed := fmt.Sprintf("(after %d in the checkpoint)", threads*trained)
			if want.Steps == 0 {
				passed = fmt.Sprintf("nothing is left to train: %d examples are in the checkpoint\n", threads*trained)
			}
			if strings.Contains(said, passed) != (trained > 0) ||
				strings.Contains(said, "100%") != (want.Steps > 0) {
				t.Errorf("%d threads after %d samples: the report is %q", threads, trained, said)
			}
		}
	}
}

// overheard is a trainer that adds up what sessions hand over.
type overheard struct {
	optimizer.Trainer
	mu  sync.Mutex
	sum map[string]uint64 // of bits, in whatever order threads come
}

func (o *overheard) Open(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := o.Trainer.Open(params)
	return overheardSession{s, o, params}, err
}

type overheardSession struct {
	optimizer.Session
	of     *overheard
	params []*optimizer.Param
}

func (s overheardSession) End(ctx context.Context, st *optimizer.Step) error {
	if !st.Eval {
		s.of.add(s.params, st)
	}
	return s.Session.End(ctx, st)
}

func (o *overheard) add(params []*optimizer.Param, s *optimizer.Step) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range params {
		for i, g := range p.G {
			o.sum[p.Name] += math.Float64bits(float64(g)*float64(i+1) + float64(p.W[i]))
		}
	}
	for _, r := range s.Rows {
		for i, g := range r.G {
			o.sum[r.Param.Name] += math.Float64bits(float64(g)*float64(i+1) + float64(r.W[i]))
		}
	}
	o.sum["steps"]++
}

// TestGradientsAreShown: a loop shows what it hands to the trainer, step by step, with the weights that it was computed at, and neither
// what evaluations read between the steps nor the steps of a later loop.
func TestGradientsAreShown(t *testing.T) {
	for _, threads := range []int{0, 1, 3} {
		n := newToy(1)
		weights, err := local.New(n.loss.Params(), optimizer.SGD{LR: 0.1})
		law.Check(t, err)
		given, shown := &overheard{Trainer: weights, sum: map[string]uint64{}}, &overheard{sum: map[string]uint64{}}
		n.loss.Bind(given)
		exe := NewExecutor(n.g)
		o := TrainOptions{Gradients: shown.add}
		if threads == 0 {
			o.Step = func(ctx context.Context, _ TrainResult) error {
				_, err := exe.Eval(ctx, n.batch(7, 3), n.loss)
				return err
			}
			_, err = exe.TrainFrom(t.Context(), recycled(n.batches(20, 20, 10)), o)
		} else {
			_, err = TrainThreads(t.Context(), n.g, threads, func(int) stream { return recycled(n.batches(20, 20, 10)) }, o)
		}
		law.Check(t, err)
		if len(given.sum) != 7 || given.sum["steps"] != 3*uint64(max(threads, 1)) || !maps.Equal(given.sum, shown.sum) {
			t.Errorf("%d threads: the trainer was given %v, and shown were %v", threads, given.sum, shown.sum)
		}
		if _, err := exe.TrainFrom(t.Context(), recycled(n.batches(20)), TrainOptions{}); err != nil || shown.sum["steps"] == given.sum["steps"] {
			t.Errorf("%d threads: a later loop shows its steps too: %v, error %v", threads, shown.sum["steps"], err)
		}
	}
}
