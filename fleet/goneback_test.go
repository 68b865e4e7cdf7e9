package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"gorgonia.org/tensor"
)

// TestServingFollowsAJobThatGoesBack: a job is killed three times behind models that no checkpoint knows of, twice
// behind deltas and once behind a base, and goes on from its checkpoint, on another number of servers. After each save
// a scorer that was up all the time, a scorer that is opened afresh and a scorer that skips saves serve the trainer's
// rows.
//
// Promise: [G6] what is served is the trainer's, row by row, also if the job goes back after deltas and bases that it
// has saved
func TestServingFollowsAJobThatGoesBack(t *testing.T) {
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
		"half_async": {1, 2, strategy.HalfAsync()},
		"ssp":        {2, 2, strategy.Strategy{Mode: strategy.ModeSSP}},
		"geo":        {2, 2, strategy.Geo(2)},
	}) {
		for _, published := range trial.Some(t, []bool{false, true}) {
			t.Run(fmt.Sprint(name, ", published ", published), func(t *testing.T) {
				p := &publisher{t: t, dir: t.TempDir(), strategy: k.strategy, baseBehind: 1}
				for p.leg = range 4 {
					servers := k.servers
					if servers > 0 {
						servers = 1 + (k.servers+p.leg)%3
					}
					if published {
						p.published = p.at("")
					}
					fleettest.Cluster{Servers: servers, Workers: k.workers}.Run(t, p.run)
				}
				if want := 1 + 3 + 1; p.bases != want { // at the beginning, once behind each death, and behind the checkpoint
					t.Errorf("%d bases were saved, want %d", p.bases, want)
				}
			})
		}
	}
}

// publisher is a job that saves for serving, and is killed.
type publisher struct {
	t          *testing.T
	dir        string
	strategy   strategy.Strategy
	published  string
	baseBehind int // the leg that saves a base behind its checkpoint

	leg, saved, bases int
	up, lazy          *serve.Scorer
}

func (p *publisher) at(name string) string { return filepath.Join(p.dir, "published", name) }

func (p *publisher) checkpoint(leg int) string {
	return filepath.Join(p.dir, fmt.Sprint("checkpoint", leg))
}

func (p *publisher) run(ctx context.Context, f *fleet.Fleet) error {
	c := newClicking()
	if p.strategy.Mode == strategy.ModeGeo {
		c = clickingWith(optimizer.Entry{})
	}
	load := ""
	if p.leg > 0 {
		load = p.checkpoint(p.leg - 1)
	}
	r := rand.New(rand.NewPCG(uint64(p.leg), 7)) // the same on all workers
	return c.play(ctx, f, p.strategy, load, func() error {
		for n := range 10 {
			ids := []int64{r.Int64N(20), r.Int64N(20), r.Int64N(20)}
			if err := c.train(ctx, r.IntN(2) == 0, ids...); err != nil {
				return err
			}
			if n%2 == 0 {
				continue
			}
			err := (&servingStory{}).first(ctx, f, func() error {
				err := p.publish(ctx, f, c, n == 7 && p.leg == p.baseBehind)
				if n == 5 {
					err = errors.Join(err, f.SavePersistables(ctx, p.checkpoint(p.leg)))
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// publish saves a delta, or a base where it has none to follow, and looks at what is served.
func (p *publisher) publish(ctx context.Context, f *fleet.Fleet, c *clicking, base bool) error {
	p.saved++
	o := fleet.SaveOptions{Mode: fleet.SaveDelta, Model: c.model(), Published: p.published}
	if c.counts {
		o.BaseThreshold, o.DeltaThreshold, o.DeltaKeepDays = -1, -1, -1
	}
	err := fleet.ErrNoBase
	if !base {
		_, err = f.SaveModel(ctx, p.at(fmt.Sprintf("deltas/%d-%d", p.leg, p.saved)), o)
	}
	if errors.Is(err, fleet.ErrNoBase) {
		p.bases++
		o.Mode, o.DeltaThreshold = fleet.SaveBase, 0
		_, err = f.SaveModel(ctx, p.at("base"), o)
	}
	if err != nil {
		return err
	}
	return p.look(ctx, f, c)
}

// look compares what is served with what the trainer has.
func (p *publisher) look(ctx context.Context, f *fleet.Fleet, c *clicking) error {
	truth := filepath.Join(p.dir, "truth")
	if err := f.SaveInferenceModel(ctx, truth, c.model()); err != nil {
		return err
	}
	m, err := serve.Load(truth)
	if err != nil {
		return err
	}
	ids := make([]int64, 20)
	for i := range ids {
		ids[i] = int64(i)
	}
	feeds := c.feed(ids, func(int) bool { return false })
	out, err := nn.NewExecutor(m.Graph).Eval(ctx, feeds, m.Outputs[0])
	if err != nil {
		return err
	}
	want := fmt.Sprint(out[0].Float32s())
	delete(feeds, "click")
	open := func() (*serve.Scorer, error) {
		return serve.OpenScorer(p.at("base"), serve.ScorerOptions{Deltas: p.at("deltas")})
	}
	fresh, err := open()
	if err != nil {
		return err
	}
	if p.up == nil {
		p.up, _ = open()
		p.lazy, _ = open()
	}
	_, err = p.up.Reload()
	served := map[string]*serve.Scorer{"that is opened afresh": fresh, "that was up": p.up}
	if p.saved%3 == 0 {
		_, again := p.lazy.Reload()
		err = errors.Join(err, again)
		served["that skips saves"] = p.lazy
	}
	if err != nil {
		return err
	}
	for who, s := range served {
		got, err := s.Score(ctx, feeds)
		if err != nil {
			return err
		}
		if is := fmt.Sprint(got.Values[0]); is != want {
			p.t.Errorf("leg %d, save %d: a scorer %s says\n%s, the trainer\n%s", p.leg, p.saved, who, is, want)
		}
	}
	return nil
}

// TestServersThatComeBackKnowWhatWasSaved: a job goes on from a checkpoint, saves a base where a delta is refused, and then deltas, though both
// servers are killed and come back to their journals behind each save, with a checkpoint since and without.
//
// Promise: [G6] servers that come back from their journals continue the deltas, and a worker that dies while it saves
// leaves no second delta of one number
// Also: TestAWorkerThatEndsWhileItSaves, TestASaveThatFailsAtItsEnd
func TestServersThatComeBackKnowWhatWasSaved(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
	s.Recovery.Every = strategy.Duration(time.Hour)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	legs := [2]func(context.Context, *fleet.Fleet, *clicking, func()) error{
		func(ctx context.Context, f *fleet.Fleet, c *clicking, _ func()) error {
			return errors.Join(c.train(ctx, true, 1, 2), c.base(ctx, f, at("first")), c.train(ctx, true, 3), f.Checkpoint(ctx))
		},
		func(ctx context.Context, f *fleet.Fleet, c *clicking, die func()) error {
			die()
			if err := c.delta(ctx, f, at("refused")); !errors.Is(err, fleet.ErrNoBase) {
				t.Errorf("a delta behind a checkpoint, of servers that came back: %v", err)
			}
			steps := []func() error{
				func() error { return c.base(ctx, f, at("base")) },
				func() error { return c.train(ctx, true, 4, 4) },
				func() error { return c.delta(ctx, f, at("1")) },
				func() error { return errors.Join(f.Checkpoint(ctx), c.train(ctx, false, 5, 1)) },
				func() error { return c.delta(ctx, f, at("2")) },
				func() error { return c.train(ctx, false, 6, 2) },
				func() error { return f.Checkpoint(ctx) },
				func() error { return c.delta(ctx, f, at("3")) },
			}
			for i, step := range steps {
				if err := step(); err != nil {
					return fmt.Errorf("step %d: %w", i, err)
				}
				die()
			}
			merged, err := loaded(at("base"), at("1"), at("2"), at("3"))
			if err != nil {
				return err
			}
			err = c.base(ctx, f, at("whole"))
			if whole, again := loaded(at("whole")); whole != merged {
				t.Errorf("a base and its deltas are\n%s\nand a base now is\n%s, %v", merged, whole, again)
			}
			return err
		},
	}
	for _, leg := range legs {
		synctest.Test(t, func(t *testing.T) {
			cluster, network := quiet(2, 1)
			kills := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				if !f.IsServer() {
					c := newClicking()
					return c.play(ctx, f, s, "", func() error {
						return leg(ctx, f, c, func() {
							kills[0] <- struct{}{}
							kills[1] <- struct{}{}
							synctest.Wait() // they are gone
						})
					})
				}
				for {
					killed, err := untilKilled(ctx, f, network, kills[f.ServerIndex()], func(ctx context.Context, f *fleet.Fleet) error {
						return newClicking().play(ctx, f, s, "", nil)
					})
					if !killed {
						return err
					}
				}
			})
		})
	}
}

// untilKilled plays a life of a role, until it is killed.
func untilKilled(ctx context.Context, f *fleet.Fleet, network transport.Transport, kill <-chan struct{},
	play func(context.Context, *fleet.Fleet) error) (killed bool, err error) {
	own := &trial.Cable{Transport: network}
	again, err := trial.Another(f, own)
	if err != nil {
		return false, err
	}
	defer again.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error)
	go func() { ended <- play(ctx, again) }()
	select {
	case err := <-ended:
		return false, err
	case <-kill:
		own.Kill()
		end()
		<-ended
		return true, nil
	}
}

// TestAWorkerThatEndsWhileItSaves: a worker dies when its delta is whole and no server knows of that. The next delta would be another of the same
// number: it is refused.
func TestAWorkerThatEndsWhileItSaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 1)
		cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			if f.IsServer() {
				return c.play(ctx, f, trial.Patient(strategy.Async()), "", nil)
			}
			dead, own := make(chan struct{}), &trial.Cable{Transport: network}
			ends := trial.Requests(t, "server-0:1", `"ends":true`)
			first, err := trial.Another(f, &trial.Tap{Transport: own, Before: func(endpoint string, req [][]byte) error {
				if !ends(endpoint, req) {
					return nil
				}
				if _, err := serve.Load(at("base"), at("delta")); err == nil && !own.Pulled.Swap(true) {
					close(dead)
				}
				return nil
			}})
			if err != nil {
				return err
			}
			ended := make(chan error)
			go func() {
				ended <- c.play(ctx, first, trial.Patient(strategy.Async()), "", func() error {
					return errors.Join(c.train(ctx, true, 1, 2, 3), c.base(ctx, first, at("base")),
						c.train(ctx, true, 1, 2, 3), c.delta(ctx, first, at("delta")))
				})
			}()
			<-dead
			if _, err := serve.Load(at("base"), at("delta")); err != nil {
				t.Errorf("what was saved before the worker died: %v", err)
			}
			next := newClicking()
			second, err := trial.Another(f, network)
			if err != nil {
				return err
			}
			err = next.play(ctx, second, trial.Patient(strategy.Async()), "", func() error {
				for _, published := range []string{"", dir} {
					if err := next.deltaOf(ctx, second, at("refused"), published); !errors.Is(err, fleet.ErrNoBase) {
						t.Errorf("a delta beside another, published in %q: %v", published, err)
					}
				}
				err := os.RemoveAll(at("delta")) // nobody has taken it
				return errors.Join(err, next.train(ctx, true, 7), next.deltaOf(ctx, second, at("after"), dir))
			})
			if err == nil {
				_, err = serve.Load(at("base"), at("after"))
			}
			first.Close()
			if <-ended == nil {
				t.Error("a worker that is cut off has saved a delta")
			}
			return err
		})
	})
}

// TestForkedDeltas: two jobs that go on from one checkpoint have saved deltas of one base, each without a look at the other's. Nobody serves a
// mixture, or one of them by its name: readers say what both are, serve what comes before, and go on with the next base.
//
// Promise: [G6] of two jobs that save deltas of one base beside each other readers take neither, and say so; a delta
// of another model is refused when it is saved
// Also: TestDeltasOfAnotherModel
func TestForkedDeltas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	legs := []func(context.Context, *fleet.Fleet, *clicking) error{
		func(ctx context.Context, f *fleet.Fleet, c *clicking) error {
			return errors.Join(c.train(ctx, true, 1, 2), c.base(ctx, f, at("one", "base")), c.train(ctx, true, 3), c.delta(ctx, f, at("one", "1")),
				f.SavePersistables(ctx, at("checkpoint")), os.CopyFS(at("two"), os.DirFS(at("one"))), c.train(ctx, true, 4), c.delta(ctx, f, at("one", "2")))
		},
		func(ctx context.Context, f *fleet.Fleet, c *clicking) error {
			return errors.Join(c.train(ctx, true, 5), c.deltaOf(ctx, f, at("two", "2-"), at("two")), c.train(ctx, true, 6), c.delta(ctx, f, at("two", "3-")))
		},
		func(ctx context.Context, f *fleet.Fleet, c *clicking) error { return c.base(ctx, f, at("next")) },
	}
	for leg, work := range legs {
		load := ""
		if leg > 0 {
			load = at("checkpoint")
		}
		fleettest.Cluster{Servers: 1, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			return c.play(ctx, f, strategy.Async(), load, func() error { return work(ctx, f, c) })
		})
	}
	forked := func(what string, err error) {
		t.Helper()
		text := fmt.Sprint(err)
		if said := regexp.MustCompile(`"[0-9a-f]{16}"`).FindAllString(text, -1); !errors.Is(err, serve.ErrForked) || len(said) != 2 || said[0] == said[1] {
			t.Errorf("%s: error %v, want both generations", what, err)
		}
	}
	version := func(names ...string) string {
		v, err := serve.Version(at(names...))
		if err != nil {
			t.Error(err)
		}
		return v
	}
	is := func(what string, s *serve.Scorer, want string) {
		t.Helper()
		if s.Version() != want {
			t.Errorf("%s is at %s, want %s", what, s.Version(), want)
		}
	}
	open := func(deltas string) *serve.Scorer {
		t.Helper()
		s, err := serve.OpenScorer(at("one", "base"), serve.ScorerOptions{Deltas: deltas})
		law.Check(t, err)
		return s
	}
	_, err := serve.Load(at("one", "base"), at("one", "1"), at("one", "2"), at("two", "3-"))
	forked("Load", err)
	up := open(at("one"))
	is("a scorer of the first", up, version("one", "2"))
	forked("TakeDelta", up.TakeDelta(at("two", "2-")))
	forked("TakeDelta of what follows", up.TakeDelta(at("two", "3-")))
	is("a scorer that was given the second's", up, version("one", "2"))
	law.Check(t, errors.Join(os.Rename(at("two", "2-"), at("one", "2-")), os.Rename(at("two", "3-"), at("one", "3-"))))
	fresh := open(at("one"))
	is("a scorer that is opened afresh", fresh, version("one", "1"))
	for who, s := range map[string]*serve.Scorer{"that was up": up, "that is opened afresh": fresh} {
		changed, err := s.Reload()
		if forked("Reload of a scorer "+who, err); changed {
			t.Errorf("a scorer %s took one of two", who)
		}
	}
	law.Check(t, errors.Join(os.RemoveAll(at("one", "base")), os.Rename(at("next"), at("one", "base"))))
	for who, s := range map[string]*serve.Scorer{"that was up": up, "that was opened afresh": fresh} {
		if changed, err := s.Reload(); !changed || err != nil {
			t.Errorf("a scorer %s does not go on with the next base: %v", who, err)
		}
		is("a scorer "+who, s, version("one", "base"))
	}
}

// TestDeltasOfAJobThatGoesOn: a base that follows what a job had published before it went back has a higher number than all of that, so that
// the job's deltas go on behind the next checkpoint. A reader says once that another run of the job saves them.
func TestDeltasOfAJobThatGoesOn(t *testing.T) {
	// Serial: it takes over the process's log.
	defer slog.SetDefault(slog.Default())
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	base := func(ctx context.Context, f *fleet.Fleet, c *clicking, name string) error {
		return failed(f.SaveModel(ctx, at(name), fleet.SaveOptions{Mode: fleet.SaveBase, Model: c.model(), BaseThreshold: -1, Published: dir}))
	}
	var log trial.Log
	for leg, work := range []func(context.Context, *fleet.Fleet, *clicking) error{
		func(ctx context.Context, f *fleet.Fleet, c *clicking) error {
			return errors.Join(c.train(ctx, true, 1), base(ctx, f, c, "base"), c.train(ctx, true, 2), c.deltaOf(ctx, f, at("1"), dir),
				f.SavePersistables(ctx, at("checkpoint0")),
				c.train(ctx, true, 3), c.deltaOf(ctx, f, at("2"), dir), c.train(ctx, true, 4), c.deltaOf(ctx, f, at("3"), dir))
		},
		func(ctx context.Context, f *fleet.Fleet, c *clicking) error {
			if err := c.deltaOf(ctx, f, at("refused"), dir); !errors.Is(err, fleet.ErrNoBase) {
				t.Errorf("a delta behind others of the same base: %v", err)
			}
			return errors.Join(base(ctx, f, c, "next"), c.train(ctx, true, 5), c.deltaOf(ctx, f, at("next1"), dir),
				f.SavePersistables(ctx, at("checkpoint1")))
		},
		func(ctx context.Context, f *fleet.Fleet, c *clicking) error {
			err := errors.Join(c.train(ctx, true, 6), c.deltaOf(ctx, f, at("next2"), dir), c.train(ctx, true, 7), c.deltaOf(ctx, f, at("next3"), dir))
			if err == nil {
				slog.SetDefault(log.Logger())
				_, err = serve.Load(at("next"), at("next1"), at("next2"), at("next3"))
			}
			return err
		},
	} {
		load := ""
		if leg > 0 {
			load = at(fmt.Sprint("checkpoint", leg-1))
		}
		fleettest.Cluster{Servers: 1, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			return c.play(ctx, f, strategy.Async(), load, func() error { return work(ctx, f, c) })
		})
	}
	if said := log.Lines("was started again"); len(said) != 1 || !strings.Contains(said[0], "delta="+at("next2")) {
		t.Errorf("the log says %q", said)
	}
}

// TestDeltasOfAnotherModel: a delta of other outputs, or of a larger model, is refused when it is saved, and right ones follow the base still.
func TestDeltasOfAnotherModel(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 2} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		fleettest.Cluster{Servers: servers, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			other := nn.Linear(c.out, 1, nn.LinearOptions{Act: nn.Sigmoid})
			return c.play(ctx, f, strategy.Async(), "", func() error {
				if err := errors.Join(c.train(ctx, true, 1, 2), c.base(ctx, f, at("base"))); err != nil {
					return err
				}
				for name, m := range map[string]optimizer.Model{"another output": nn.Inference(other), "one more": nn.Inference(c.out, other),
					"fewer params": nn.Inference(c.shown)} {
					o := fleet.SaveOptions{Mode: fleet.SaveDelta, Model: m, DeltaThreshold: -1}
					if _, err := f.SaveModel(ctx, at("other"), o); err == nil || !strings.Contains(err.Error(), "not the one of base") {
						t.Errorf("a delta with %s: %v", name, err)
					}
				}
				if err := errors.Join(c.train(ctx, true, 3), c.delta(ctx, f, at("delta"))); err != nil {
					return err
				}
				_, err := serve.Load(at("base"), at("delta"))
				return err
			})
		})
	}
}

// TestDeltasOfAnotherFormat: a delta whose lines are read in another way than the base's is refused when it is saved.
func TestDeltasOfAnotherFormat(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		dir := t.TempDir()
		fleettest.Cluster{Servers: servers, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			out := nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "rows", Dim: 1})
			model := nn.Inference(out)
			lines := func(missing string) optimizer.Model {
				return model.WithFormat(dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Ints("ids"), Missing: missing}}})
			}
			if err := trial.Minimize(f, nn.Mean(out), optimizer.SGD{LR: 1}, strategy.Async()); err != nil {
				return err
			}
			return trial.Begin(ctx, f, "", func() error {
				exe := nn.NewExecutor(g)
				save := func(name string, mode fleet.SaveMode, m optimizer.Model) error {
					_, err := exe.Train(ctx, map[string]*tensor.Dense{"ids": nn.Ints([]int64{1, 2}, 1)})
					return errors.Join(err, f.BarrierWorker(ctx), failed(f.SaveModel(ctx, filepath.Join(dir, name), fleet.SaveOptions{Mode: mode, Model: m})))
				}
				if err := save("base", fleet.SaveBase, lines("1")); err != nil {
					return err
				}
				for what, m := range map[string]optimizer.Model{"another": lines("2"), "no": model} {
					if err := save("other", fleet.SaveDelta, m); err == nil || !strings.Contains(err.Error(), "feeds or format are others") {
						t.Errorf("%d servers, a delta with %s format: %v", servers, what, err)
					}
				}
				return errors.Join(save("delta", fleet.SaveDelta, lines("1")), exe.Close(ctx))
			})
		})
	}
}

// TestWhatWasSavedIsSaid: rows, rows that thresholds leave out, and bytes, in jobs of every kind; a base without a row is a warning.
//
// Promise: [G6] a save says what it has and what thresholds left out
func TestWhatWasSavedIsSaid(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range [][2]int{{0, 1}, {0, 2}, {2, 2}} {
		dir := t.TempDir()
		var log trial.Log
		cluster := fleettest.Cluster{Servers: size[0], Workers: size[1]}
		cluster.Options.Logger = log.Logger()
		cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			return c.play(ctx, f, strategy.Sync(), "", func() error {
				for range 2 {
					if err := c.train(ctx, false, 1, 1, 2); err != nil {
						return err
					}
				}
				return (&servingStory{}).first(ctx, f, func() error {
					// shows alone: each of one id rates .1, of two and more workers .2
					low := fleet.SaveOptions{Mode: fleet.SaveBase, Model: c.model(), BaseThreshold: 10}
					some := fleet.SaveOptions{Mode: fleet.SaveBase, Model: c.model(), BaseThreshold: .3 * float64(size[1])}
					rest := fleet.SaveOptions{Mode: fleet.SaveDelta, Model: c.model(), BaseThreshold: -1, DeltaThreshold: -1}
					none := fleet.SaveOptions{Mode: fleet.SaveBase, Model: nn.Inference(c.shown), BaseThreshold: 10}
					for i, k := range []struct {
						o          fleet.SaveOptions
						rows, left int
					}{{low, 2, 2}, {some, 3, 1}, {rest, 1, 0}, {none, 0, 2}} {
						got, err := f.SaveModel(ctx, filepath.Join(dir, fmt.Sprint(i)), k.o)
						files, more := os.ReadDir(filepath.Join(dir, fmt.Sprint(i)))
						bytes := int64(0)
						for _, e := range files {
							if st, err := e.Info(); err == nil && e.Name() != "model.json" {
								bytes += st.Size()
							}
						}
						if want := (stats.Saved{Rows: k.rows, Left: k.left, Bytes: bytes}); got != want || bytes == 0 {
							t.Errorf("%v, save %d: %+v, want %+v", size, i, got, want)
						}
						if err := errors.Join(err, more); err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
		if said := log.Lines("without a row"); len(said) != 1 || !strings.Contains(said[0], "left_out=2") {
			t.Errorf("%v: the log says %q of a base without a row", size, said)
		}
		if said := log.Lines("model for serving was saved"); len(said) < 3 || !strings.Contains(log.String(), "rows=3 left_out=1") {
			t.Errorf("%v: the log says %q of what was saved", size, said)
		}
	}
}

// TestASaveThatFailsAtItsEnd: a base whose record can't be written changes nothing: the next delta follows the base
// before.
func TestASaveThatFailsAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 2} {
		dir := t.TempDir()
		at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
		law.Check(t, os.MkdirAll(at("taken", "model.json"), 0o755))
		fleettest.Cluster{Servers: servers, Workers: 1}.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			return c.play(ctx, f, strategy.Async(), "", func() error {
				if err := errors.Join(c.train(ctx, true, 1, 2), c.base(ctx, f, at("base")), c.train(ctx, true, 3)); err != nil {
					return err
				}
				if err := c.base(ctx, f, at("taken")); err == nil {
					return errors.New("a base was saved whose record is a directory")
				}
				if err := c.delta(ctx, f, at("delta")); err != nil {
					return err
				}
				merged, err := loaded(at("base"), at("delta"))
				if err != nil {
					return err
				}
				err = c.base(ctx, f, at("whole"))
				if whole, again := loaded(at("whole")); whole != merged {
					t.Errorf("%d servers: a base and its delta are\n%s\nand a base now is\n%s, %v", servers, merged, whole, again)
				}
				return err
			})
		})
	}
}
