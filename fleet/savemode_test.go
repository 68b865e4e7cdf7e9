package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// clicking is a model of two embeddings, of which one counts shows and clicks.
type clicking struct {
	loss, out, shown *nn.Node
	exe              *nn.Executor
	counts           bool // shows and clicks
}

func newClicking() *clicking {
	return clickingWith(optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: .2}})
}

// clickingWith is one whose first embedding lets ids in like that.
func clickingWith(e optimizer.Entry) *clicking {
	g := nn.NewGraph(3)
	ids, click := g.IDs("ids"), g.Input("click", 1)
	o := nn.EmbeddingOptions{Name: "shown", Dim: 2, Entry: e}
	if e.Counts() {
		o.Click = click
	}
	shown := nn.Embedding(ids, o)
	plain := nn.Embedding(ids, nn.EmbeddingOptions{Name: "plain", Dim: 3})
	out := nn.Linear(nn.Concat(shown, plain), 1, nn.LinearOptions{})
	off := nn.Subtract(out, click)
	return &clicking{loss: nn.Mean(nn.Multiply(off, off)), out: out, shown: shown, counts: e.Counts()}
}

// feed is a batch of examples, each an id and whether it was clicked.
func (c *clicking) feed(ids []int64, clicked func(i int) bool) map[string]*gorgonia.Dense {
	clicks := make([]float32, len(ids))
	for i := range clicks {
		if clicked(i) {
			clicks[i] = 1
		}
	}
	return map[string]*gorgonia.Dense{
		"ids":   gorgonia.New(gorgonia.WithShape(len(ids)), gorgonia.WithBacking(ids)),
		"click": gorgonia.New(gorgonia.WithShape(len(ids), 1), gorgonia.WithBacking(clicks)),
	}
}

// train makes one step.
func (c *clicking) train(ctx context.Context, click bool, ids ...int64) error {
	_, err := c.exe.Train(ctx, c.feed(ids, func(int) bool { return click }))
	return err
}

// play plays a role that trains the model.
func (c *clicking) play(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, load string, work func() error) error {
	rule := optimizer.Rule(optimizer.Adagrad{LR: .1})
	if s.Mode == strategy.ModeGeo {
		rule = optimizer.SGD{LR: .1}
	}
	if err := trial.Minimize(f, c.loss, rule, s); err != nil {
		return err
	}
	return trial.Begin(ctx, f, load, func() error {
		c.exe = nn.NewExecutor(c.loss.Graph())
		return errors.Join(work(), c.exe.Close(ctx))
	})
}

// model is what is saved for serving.
func (c *clicking) model() optimizer.Model { return nn.Inference(c.out) }

func (c *clicking) base(ctx context.Context, f *fleet.Fleet, dir string) error {
	return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBase, Model: c.model()}))
}

// delta saves every change.
func (c *clicking) delta(ctx context.Context, f *fleet.Fleet, dir string) error {
	return c.deltaOf(ctx, f, dir, "")
}

// deltaOf saves every change since what was published last.
func (c *clicking) deltaOf(ctx context.Context, f *fleet.Fleet, dir, published string) error {
	o := fleet.SaveOptions{Mode: fleet.SaveDelta, Model: c.model(), Published: published}
	if c.counts {
		o.DeltaThreshold = -1
	}
	return failed(f.SaveModel(ctx, dir, o))
}

// failed is the error of a call that says something beside it.
func failed[T any](_ T, err error) error { return err }

// loaded says all of a model: its rows, and what it predicts for the first ids.
func loaded(dir string, deltas ...string) (string, error) {
	m, err := serve.Load(dir, deltas...)
	if err != nil {
		return "", err
	}
	ids := make([]int64, 20)
	for i := range ids {
		ids[i] = int64(i)
	}
	c := new(clicking)
	says, err := nn.NewExecutor(m.Graph).Eval(context.Background(), c.feed(ids, func(int) bool { return false }), m.Outputs[0])
	if err != nil {
		return "", err
	}
	text := fmt.Sprint(says[0].Float32s())
	for _, p := range m.Outputs[0].Params() {
		text += fmt.Sprintf("\n%s %v %v", p.Name, p.Rows, p.W)
	}
	return text, nil
}

// TestABaseAndItsDeltas: whatever is trained, shrunk and saved between, a base and its deltas are the base that is saved in the place of the
// last one's, rows and predictions to the bits, in jobs of every kind, also when the job goes on from a checkpoint.
//
// Promise: [G6] a base and its deltas are the base that is saved in the last one's place, rows and predictions to the
// bits, whatever is trained, dropped and loaded between; thresholds are the original's
// Also: TestServingThresholds, TestEverySaveOptionActs
func TestABaseAndItsDeltas(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, k := range trial.SomeOf(t, map[string]struct {
		servers, workers int
		strategy         strategy.Strategy
	}{
		"alone":      {0, 1, strategy.Sync()},
		"collective": {0, 2, strategy.Sync()},
		"sync":       {1, 2, strategy.Sync()},
		"async":      {3, 1, strategy.Async()},
		"ssp":        {2, 2, strategy.Strategy{Mode: strategy.ModeSSP}},
		"geo":        {2, 2, strategy.Geo(2)},
	}) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				s := &servingStory{dir: t.TempDir(), strategy: k.strategy, draw: func() *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }}
				for leg := range 2 {
					s.load, s.leg = s.save, leg
					s.save = filepath.Join(s.dir, fmt.Sprint("checkpoint", leg))
					fleettest.Cluster{Servers: k.servers, Workers: k.workers}.Run(t, s.run)
				}
			}
		})
	}
}

// servingStory is a job that trains, ends days, and saves for serving as it is drawn; the last thing is a checkpoint, from which the next leg
// goes on.
type servingStory struct {
	dir, load, save string
	leg             int
	strategy        strategy.Strategy
	draw            func() *rand.Rand

	base   string
	deltas []string
	saved  int
}

func (s *servingStory) run(ctx context.Context, f *fleet.Fleet) error {
	c := newClicking()
	if s.strategy.Mode == strategy.ModeGeo { // where nothing is counted, and no period ends
		c = clickingWith(optimizer.Entry{})
	}
	return c.play(ctx, f, s.strategy, s.load, func() error {
		r := s.draw() // the same on all workers
		if s.leg == 0 {
			if err := s.first(ctx, f, func() error { return s.saveBase(ctx, f, c) }); err != nil {
				return err
			}
		}
		for range 20 {
			if err := s.act(ctx, f, c, r); err != nil {
				return err
			}
		}
		return s.first(ctx, f, func() error { return f.SavePersistables(ctx, s.save) })
	})
}

// first has worker 0 do something that the others wait for.
func (s *servingStory) first(ctx context.Context, f *fleet.Fleet, do func() error) error {
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if f.WorkerIndex() == 0 {
		if err := do(); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}

func (s *servingStory) act(ctx context.Context, f *fleet.Fleet, c *clicking, r *rand.Rand) error {
	switch what := r.IntN(8); {
	case what < 4:
		ids := make([]int64, 6)
		for i := range ids {
			ids[i] = r.Int64N(20)
		}
		return c.train(ctx, r.IntN(2) == 0, ids...)
	case what < 6 && c.counts:
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Decay: .8, MinScore: r.Float64(), Unseen: uint32(r.IntN(4))})
		return err
	case what < 7:
		return s.first(ctx, f, func() error { return s.saveDelta(ctx, f, c) })
	}
	return s.first(ctx, f, func() error { return s.compare(ctx, f, c) })
}

func (s *servingStory) place() string {
	s.saved++
	return filepath.Join(s.dir, fmt.Sprint("model", s.saved))
}

func (s *servingStory) saveBase(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	s.base, s.deltas = s.place(), nil
	return c.base(ctx, f, s.base)
}

func (s *servingStory) saveDelta(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	s.deltas = append(s.deltas, s.place())
	return c.deltaOf(ctx, f, s.deltas[len(s.deltas)-1], s.dir)
}

// compare saves a delta, and then a base, from which it goes on.
func (s *servingStory) compare(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	if err := s.saveDelta(ctx, f, c); err != nil {
		return err
	}
	merged, err := loaded(s.base, s.deltas...)
	if err != nil {
		return err
	}
	n := len(s.deltas)
	if err := s.saveBase(ctx, f, c); err != nil {
		return err
	}
	whole, err := loaded(s.base)
	if err == nil && merged != whole {
		err = fmt.Errorf("a base and %d deltas are\n%s\nand the base now is\n%s", n, merged, whole)
	}
	return err
}

// TestServingThresholds holds rows to PaddlePaddle's rules: score(show, click) = .1·(show − click) + click.
func TestServingThresholds(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	fleettest.Cluster{Servers: 2, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c, dir := newClicking(), t.TempDir()
		return c.play(ctx, f, strategy.Async(), "", func() error {
			push := func(times int, click bool, id int64) {
				for range times {
					if err := c.train(ctx, click, id); err != nil {
						t.Error(err)
					}
				}
			}
			saved := 0
			rows := func(o fleet.SaveOptions) []uint64 {
				o.Model = c.model()
				saved++
				to := filepath.Join(dir, fmt.Sprint(saved))
				if _, err := f.SaveModel(ctx, to, o); err != nil {
					t.Error(err)
					return nil
				}
				return idsIn(t, to, "shown")
			}
			want := func(what string, o fleet.SaveOptions, ids ...uint64) {
				t.Helper()
				if got := rows(o); !slices.Equal(got, ids) {
					t.Errorf("%s: rows %v, want %v", what, got, ids)
				}
			}
			push(14, false, 1) // 1.4
			push(16, false, 2) // 1.6
			push(1, true, 3)   // 1
			push(2, true, 4)   // 2
			base, delta := fleet.SaveOptions{Mode: fleet.SaveBase}, fleet.SaveOptions{Mode: fleet.SaveDelta}
			want("1.5 and more", base, 2, 4)
			want("nothing new", delta)
			push(2, false, 2) // 0.2 since
			push(3, false, 4) // 0.3 since
			push(2, false, 1) // 1.6, all of it new
			want("0.25 and more", delta, 1, 4)
			push(1, false, 2) // 0.3 since the base
			push(1, false, 1) // 0.1 since the delta
			want("the rest has added up", delta, 2)
			want("0.1 and more", fleet.SaveOptions{Mode: fleet.SaveDelta, DeltaThreshold: .09}, 1)
			push(1, false, 4)
			want("every change, of 2 and more", fleet.SaveOptions{Mode: fleet.SaveDelta, DeltaThreshold: -1, BaseThreshold: 2.2}, 4)
			want("all", fleet.SaveOptions{Mode: fleet.SaveBase, BaseThreshold: -1}, 1, 2, 3, 4)
			for range 17 {
				if _, err := f.Shrink(ctx, fleet.ShrinkOptions{}); err != nil {
					return err
				}
				push(1, false, 4)
			}
			want("used in the last 16 days", base, 4)
			want("in the last 17", fleet.SaveOptions{Mode: fleet.SaveBase, DeltaKeepDays: 17}, 1, 2, 4)
			want("whenever", fleet.SaveOptions{Mode: fleet.SaveBase, DeltaKeepDays: -1}, 1, 2, 4)
			return nil
		})
	})
}

// idsIn are the ids of an embedding's rows in a model or a delta.
func idsIn(t *testing.T, dir, name string) []uint64 {
	t.Helper()
	file, err := trial.WeightsOf(dir)
	if err == nil {
		var ids []uint64
		if ids, err = trial.TensorOf[uint64](file, name+".ids"); err == nil {
			return ids
		}
	}
	t.Error(err)
	return nil
}

// TestDeltasAreRefused: a delta that is damaged, of another base, out of order, or given as a model is refused, by the names of both.
//
// Promise: [G6] a delta is read over the model that it follows and no other; a scorer takes it while it is used
// Also: TestAScorerTakesDeltas
func TestDeltasAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fleettest.Cluster{Servers: 2, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c := newClicking()
		return c.play(ctx, f, strategy.Async(), "", func() error {
			for _, name := range []string{"base", "first", "second", "other", "its", "same"} {
				if err := c.train(ctx, true, 1, 2, 3); err != nil {
					return err
				}
				save := c.delta
				if name == "base" || name == "other" {
					save = c.base
				}
				if err := save(ctx, f, at(name)); err != nil {
					return err
				}
			}
			if err := c.delta(ctx, f, at("other")); err == nil || !strings.Contains(err.Error(), "directory of its own") {
				t.Errorf("a delta in its base's place: %v", err)
			}
			if err := f.LoadModel(ctx, at("first")); err == nil || !strings.Contains(err.Error(), "delta 1 of base") {
				t.Errorf("a delta is trained on: %v", err)
			}
			return nil
		})
	})
	version := func(name string) string {
		v, err := serve.Version(at(name))
		if err != nil {
			t.Error(err)
		}
		return v
	}
	for name, k := range map[string]struct {
		dirs []string
		says []string
	}{
		"alone":           {[]string{"first"}, []string{"delta 1 of base " + version("base")}},
		"no delta":        {[]string{"base", "other"}, []string{"no delta"}},
		"of another base": {[]string{"base", "its"}, []string{version("base"), version("other")}},
		"out of order":    {[]string{"base", "second"}, []string{version("base"), version("first"), "delta 2"}},
		"twice":           {[]string{"base", "first", "first"}, []string{version("first"), "after 1 deltas"}},
		"from the future": {[]string{"other", "its", "second"}, []string{version("other"), version("base")}},
	} {
		var dirs []string
		for _, d := range k.dirs {
			dirs = append(dirs, at(d))
		}
		_, err := serve.Load(dirs[0], dirs[1:]...)
		for _, says := range k.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: error %v, want %q", name, err, says)
			}
		}
	}
	file, err := os.ReadFile(trial.WeightsFile(at("first")))
	law.Check(t, err)
	file[len(file)-1] ^= 1
	law.Check(t, os.WriteFile(trial.WeightsFile(at("first")), file, 0o600))
	if _, err := serve.Load(at("base"), at("first")); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged delta: %v", err)
	}
}

// TestADeltaLosesNothing: a delta that can't be written leaves all that it would have had to the next; weights that take the place of those
// that were saved have no base.
//
// Promise: [G6] no delta loses a change: what fails leaves it to the next, also of the next job and of servers that
// come back; a worker that dies between two servers leaves all at the same chain
// Also: TestTheNextJobSavesDeltas, TestServingWhileServersComeBack, TestASaveThatEndsBetweenServers
func TestADeltaLosesNothing(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 2} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		law.Check(t, os.WriteFile(file, nil, 0o600))
		fleettest.Cluster{Servers: servers, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			at := func(name string) string { return filepath.Join(dir, name) }
			return c.play(ctx, f, strategy.Async(), "", func() error {
				steps := []func() error{
					func() error { return c.train(ctx, true, 1, 1, 2, 2, 3) },
					func() error { return c.base(ctx, f, at("base")) },
					func() error { return f.SavePersistables(ctx, at("before")) },
					func() error { return c.train(ctx, true, 2, 4, 4) },
					func() error {
						if err := c.delta(ctx, f, filepath.Join(file, "x")); err == nil {
							return errors.New("a delta was saved below a file")
						}
						return nil
					},
					func() error { return c.train(ctx, true, 5, 5) },
					func() error { return c.delta(ctx, f, at("delta")) },
				}
				for _, step := range steps {
					if err := step(); err != nil {
						return err
					}
				}
				merged, err := loaded(at("base"), at("delta"))
				if err != nil {
					return err
				}
				if err := c.base(ctx, f, at("whole")); err != nil {
					return err
				}
				if whole, err := loaded(at("whole")); err != nil || whole != merged {
					t.Errorf("%d servers: a base is %s, error %v, with the delta it was %s", servers, whole, err, merged)
				}
				if servers == 0 {
					return nil
				}
				if err := f.LoadModel(ctx, at("base")); err != nil {
					return err
				}
				if err := c.delta(ctx, f, at("none")); !errors.Is(err, fleet.ErrNoBase) {
					t.Errorf("a delta of weights that were loaded: %v", err)
				}
				if err := f.LoadModel(ctx, at("before")); err != nil {
					return err
				}
				if err := c.deltaOf(ctx, f, at("again"), dir); !errors.Is(err, fleet.ErrNoBase) || !strings.Contains(err.Error(), "was saved behind") {
					t.Errorf("a delta behind a checkpoint, beside a base that was saved since: %v", err)
				}
				return nil
			})
		})
	}
}

// TestAScorerTakesDeltas: a scorer that is used takes one delta after the other, and says what a model says that was loaded with them.
func TestAScorerTakesDeltas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
	const deltas = 4
	fleettest.Cluster{Servers: 2, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c := newClicking()
		return c.play(ctx, f, strategy.Async(), "", func() error {
			for n := range deltas + 1 {
				if err := c.train(ctx, true, 1, 1, 2, 2, int64(n)); err != nil {
					return err
				}
				save := c.delta
				if n == 0 {
					save = c.base
				}
				if err := save(ctx, f, at(n)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	s, err := serve.OpenScorer(at(0), serve.ScorerOptions{})
	law.Check(t, err)
	feeds := new(clicking).feed([]int64{0, 1, 2, 3, 4}, func(int) bool { return false })
	delete(feeds, "click")
	answers, said := make(chan serve.Scores), map[string]string{}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				out, err := s.Score(context.WithoutCancel(ctx), feeds)
				if err != nil {
					t.Errorf("a call was dropped: %v", err)
					return
				}
				select {
				case answers <- out:
				case <-ctx.Done():
				}
			}
		})
	}
	var dirs []string
	for n := range deltas + 1 {
		if n > 0 {
			dirs = append(dirs, at(n))
			if err := s.TakeDelta(at(n)); err != nil {
				t.Error(err)
			}
			if err := s.TakeDelta(at(n)); err == nil {
				t.Error("a delta was taken twice")
			}
			if changed, err := s.Reload(); changed || err != nil {
				t.Errorf("the base, of which a delta was taken, is another: %v, error %v", changed, err)
			}
		}
		m, err := serve.Load(at(0), dirs...)
		law.Check(t, err)
		says, err := nn.NewExecutor(m.Graph).Eval(t.Context(), feeds, m.Outputs[0])
		law.Check(t, err)
		said[m.Version()] = fmt.Sprint(says[0].Float32s())
		for range 10 {
			if out := <-answers; said[out.Version] != fmt.Sprint(out.Values[0]) {
				t.Errorf("after %d deltas %s says %v, a model that is loaded %s", n, out.Version, out.Values[0], said[out.Version])
			}
		}
	}
	stop()
	all.Wait()
	if len(said) != deltas+1 {
		t.Errorf("there were %d models, want %d", len(said), deltas+1)
	}
}

// TestTheNextJobSavesDeltas: a job whose last checkpoint is of the step at which a base was saved goes on with deltas of that base.
func TestTheNextJobSavesDeltas(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range trial.Some(t, [][2]int{{0, 1}, {0, 2}, {2, 1}}) {
		s := strategy.Sync()
		dir := t.TempDir()
		s.Recovery = strategy.Recovery{Dir: filepath.Join(dir, "checkpoints"), Every: strategy.Duration(time.Hour), Deltas: 3}
		at := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
		for leg := range 3 {
			fleettest.Cluster{Servers: size[0], Workers: size[1]}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				c := newClicking()
				return c.play(ctx, f, s, "", func() error {
					save := func() error { return c.deltaOf(ctx, f, at(leg), dir) }
					if leg == 0 {
						save = func() error { return c.base(ctx, f, at(leg)) }
					}
					return errors.Join(c.train(ctx, true, int64(leg), 7, 7), f.BarrierWorker(ctx), f.Checkpoint(ctx), save(), f.BarrierWorker(ctx))
				})
			})
		}
		m, err := serve.Load(at(0), at(1), at(2))
		if err != nil {
			t.Errorf("%v: %v", size, err)
			continue
		}
		for _, p := range m.Graph.Params() {
			if p.Name == "plain" && !strings.HasPrefix(fmt.Sprint(p.Rows), "4 loaded rows") {
				t.Errorf("%v: %v, want 4", size, p.Rows)
			}
		}
		if ids := idsIn(t, at(2), "plain"); !slices.Equal(ids, []uint64{2, 7}) {
			t.Errorf("%v: the last delta has rows %v", size, ids)
		}
	}
}
