package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copyOf is a worker with a thread that trains.
type copyOf struct {
	*Trainer
	t       *testing.T
	params  []*optimizer.Param
	session optimizer.Session
	made    uint64
}

// workers are two of a job in memory. The dense weight of each begins with its rank and 1, all else with zeros.
func workers(t *testing.T, s strategy.Strategy, rule optimizer.Rule, rows bool) [2]*copyOf {
	t.Helper()
	network := transport.NewMemory()
	var all [2]*copyOf
	for rank := range all {
		c := &copyOf{t: t, params: []*optimizer.Param{
			{Name: "w", Shape: []int{1}, W: []float32{float32(rank + 1)}, G: make([]float32, 1)}}}
		if rows {
			c.params = append(c.params, &optimizer.Param{Name: "emb", Shape: []int{0, 1}, Embedding: true})
		}
		var err error
		c.Trainer, err = New(Config{Params: c.params, Rule: rule, Strategy: s.WithDefaults(),
			Group: collective.Config{Rank: rank, Endpoints: []string{"worker-0:1", "worker-1:1"}, Transport: network,
				Logger: slog.New(slog.DiscardHandler)}})
		check(t, err)
		t.Cleanup(c.Close)
		all[rank] = c
	}
	return all
}

// both has both workers do the same beside each other.
func both(all [2]*copyOf, do func(c *copyOf) error) {
	all[0].t.Helper()
	errs := apart(all, do)
	check(all[0].t, errors.Join(errs[:]...))
}

func apart(all [2]*copyOf, do func(c *copyOf) error) (errs [2]error) {
	var group sync.WaitGroup
	for rank, c := range all {
		group.Go(func() { errs[rank] = do(c) })
	}
	group.Wait()
	return errs
}

// join has a worker begin to train.
func (c *copyOf) join() (err error) {
	if err = c.Join(c.t.Context()); err == nil {
		c.session, err = c.Open(c.params)
	}
	return err
}

func (c *copyOf) rank() int { return c.c.Group.Rank }

// step makes a step with that gradient of all that there is, of so many samples.
func (c *copyOf) step(g float32, samples int) error {
	c.made++
	st := &optimizer.Step{Samples: samples, Threads: 1, Number: c.made, Loss: 1}
	if len(c.params) > 1 {
		st.Rows = []optimizer.Rows{{Param: c.params[1], IDs: []uint64{7}, W: make([]float32, 1), G: []float32{g}}}
	}
	if err := c.session.Begin(c.t.Context(), st); err != nil {
		return err
	}
	c.params[0].G[0] = g
	return c.session.End(c.t.Context(), st)
}

// weight is what the copy has of w.
func (c *copyOf) weight() float32 {
	w, err := c.Local().Dense("w")
	if err != nil {
		c.t.Fatal(err)
	}
	return w[0]
}

func (c *copyOf) row() float32 {
	w := make([]float32, 1)
	if err := c.Store().Tables[0].Peek([]uint64{7}, w, 1); err != nil {
		c.t.Fatal(err)
	}
	return w[0]
}

// TestCopiesStayTheSame: both begin with rank 0's weight, and an update is the mean by samples of what both have; a worker that has ended
// its epoch takes part in the other's steps until that has ended too.
func TestCopiesStayTheSame(t *testing.T) {
	for weigh, want := range map[strategy.Weighting]float32{strategy.WeightSamples: 1 - 2.5, strategy.WeightEqual: 1 - 2} {
		synctest.Test(t, func(t *testing.T) {
			all := workers(t, strategy.Strategy{Weighting: weigh}, optimizer.SGD{LR: 1}, true)
			both(all, (*copyOf).join)
			both(all, func(c *copyOf) error { return c.step(float32(1+2*c.rank()), 1+2*c.rank()) })
			for _, c := range all {
				if c.weight() != want || c.row() != want-1 {
					t.Errorf("%s: worker %d has %v and row %v, want %v and %v", weigh, c.rank(), c.weight(), c.row(), want, want-1)
				}
			}
			both(all, func(c *copyOf) error {
				for range 2 * c.rank() {
					if err := c.step(1, 1); err != nil {
						return err
					}
				}
				return c.EndEpoch(t.Context())
			})
			for _, c := range all {
				if c.weight() != want-2 || c.Counts().Steps != int64(1+2*c.rank()) {
					t.Errorf("%s: after the epoch worker %d has %v behind %d steps", weigh, c.rank(), c.weight(), c.Counts().Steps)
				}
				for rank, at := range c.at {
					if n := uint64(1 + 4*rank); len(at) != 1 || at[0].Samples != n {
						t.Errorf("worker %d has worker %d at %+v, want %d samples", c.rank(), rank, at, n)
					}
				}
			}
			both(all, func(c *copyOf) error { return c.Leave(t.Context()) })
		})
	}
}

// TestTheRateIsTold: rank 0's factor is every worker's from the update on in which it is told, and rank 0's own at once.
func TestTheRateIsTold(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{"": {}, "localsgd": {LocalSGD: strategy.LocalSGD{KSteps: 1}}} {
		synctest.Test(t, func(t *testing.T) {
			all := workers(t, s, optimizer.SGD{LR: 1}, name == "")
			both(all, (*copyOf).join)
			check(t, all[0].SetRateFactor(t.Context(), .5))
			if f, _ := all[0].RateFactor(t.Context()); f != .5 {
				t.Errorf("%s: rank 0 has set .5, and knows of %v", name, f)
			}
			both(all, func(c *copyOf) error { return c.step(0, 1) })
			both(all, func(c *copyOf) error { return c.step(1, 1) })
			for _, c := range all {
				if f, _ := c.RateFactor(t.Context()); f != .5 || c.weight() != .5 {
					t.Errorf("%s: worker %d has factor %v and weight %v, want .5 and .5", name, c.rank(), f, c.weight())
				}
			}
		})
	}
}

// TestCopiesMeet: with LocalSGD copies go their own ways for k steps, and an epoch ends with one model: its weights, the state of its rule
// and how many updates there were.
func TestCopiesMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := workers(t, strategy.Strategy{LocalSGD: strategy.LocalSGD{KSteps: 2}}, optimizer.Momentum{LR: 1, Momentum: .5}, false)
		both(all, (*copyOf).join)
		both(all, func(c *copyOf) error { return c.step(0, 1) }) // behind the first step they meet
		both(all, func(c *copyOf) error { return c.step(float32(1+2*c.rank()), 1) })
		if a, b := all[0].weight(), all[1].weight(); a != 0 || b != -2 {
			t.Errorf("after a step of their own the copies have %v and %v, want 0 and -2", a, b)
		}
		both(all, func(c *copyOf) error { return c.step(0, 1) })
		if a, b := all[0].weight(), all[1].weight(); a != b {
			t.Errorf("the copies have met, and have %v and %v", a, b)
		}
		both(all, func(c *copyOf) error {
			for range 1 + 2*c.rank() {
				if err := c.step(1, 1); err != nil {
					return err
				}
			}
			return c.EndEpoch(t.Context())
		})
		for rank, at := range all[0].at {
			if n := uint64(4 + 2*rank); len(at) != 1 || at[0].Samples != n {
				t.Errorf("worker 0 has worker %d at %+v, want %d samples", rank, at, n)
			}
		}
		var states [2]float32
		for rank, c := range all {
			c.eachState(func(_, _ int, state []float32) { states[rank] = state[0] })
		}
		if states[0] != states[1] || states[0] == 0 || all[0].weight() != all[1].weight() || all[0].Local().Step() != all[1].Local().Step() {
			t.Errorf("an epoch ends with velocities %v, weights %v and %v, behind %d and %d updates", states,
				all[0].weight(), all[1].weight(), all[0].Local().Step(), all[1].Local().Step())
		}
		both(all, func(c *copyOf) error { return c.step(0, 1) })
		if a, b := all[0].weight(), all[1].weight(); a != b {
			t.Errorf("a step without a gradient takes the copies apart: %v and %v", a, b)
		}
	})
}

// TestRank0Writes checkpoints, and the others nothing; what it can't write ends nobody's period.
func TestRank0Writes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := workers(t, strategy.Strategy{}, optimizer.SGD{LR: 1}, true)
		both(all, (*copyOf).join)
		both(all, func(c *copyOf) error { return c.step(1, 1) })
		dir := t.TempDir()
		both(all, func(c *copyOf) error { return c.Save(t.Context(), filepath.Join(dir, fmt.Sprint(c.rank()))) })
		if _, err := os.Stat(filepath.Join(dir, "0")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "1")); err == nil {
			t.Error("worker 1 has written a checkpoint")
		}
		file := filepath.Join(dir, "file")
		check(t, os.WriteFile(file, nil, 0o600))
		for rank, err := range apart(all, func(c *copyOf) error { return c.SaveBatch(t.Context(), file, table.Shrink{Unseen: 1}, nil) }) {
			if err == nil || rank == 1 && !strings.Contains(err.Error(), "worker 0 has not saved it") {
				t.Errorf("worker %d: a batch model that can't be written: %v", rank, err)
			}
		}
		for _, c := range all {
			if c.row() != -1 {
				t.Errorf("worker %d has %v of the row: its period has ended", c.rank(), c.row())
			}
		}
		var calls [2]bool
		check(t, apart(all, func(c *copyOf) error {
			if c.rank() == 1 { // has a step more before it shrinks
				if err := c.step(1, 1); err != nil {
					return err
				}
			}
			_, err := c.Shrink(t.Context(), table.Shrink{Unseen: 1}, nil)
			calls[c.rank()] = err == nil
			return err
		})[0])
		if all[0].row() != all[1].row() || !calls[0] || !calls[1] {
			t.Errorf("after a Shrink between other steps the copies have %v and %v", all[0].row(), all[1].row())
		}
	})
}

// TestOneSessionTrains, and another one when it is closed.
func TestOneSessionTrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := workers(t, strategy.Strategy{}, optimizer.SGD{LR: 1}, false)
		both(all, (*copyOf).join)
		both(all, func(c *copyOf) error { return c.step(1, 1) })
		second, err := all[0].Open(all[0].params)
		check(t, err)
		if err := second.Begin(t.Context(), &optimizer.Step{Samples: 1}); err == nil {
			t.Error("a second session trains")
		}
		check(t, all[0].session.Close(t.Context()))
		check(t, second.Begin(t.Context(), &optimizer.Step{Samples: 1}))
	})
}

// TestAWorkerThatFailsEndsTheOthersStep with its reason.
func TestAWorkerThatFailsEndsTheOthersStep(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{"": {}, "localsgd": {LocalSGD: strategy.LocalSGD{KSteps: 1}}} {
		synctest.Test(t, func(t *testing.T) {
			s.NotFinite = strategy.NotFiniteRefuse
			all := workers(t, s, optimizer.SGD{LR: 1}, false)
			both(all, (*copyOf).join)
			errs := apart(all, func(c *copyOf) error { return c.step([2]float32{1, float32(math.NaN())}[c.rank()], 1) })
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), "worker 1") {
					t.Errorf("%s: worker %d: %v, want the reason of worker 1", name, rank, err)
				}
			}
		})
	}
}

// TestAnotherBeginningIsRefused: copies that go on from other updates would come apart.
func TestAnotherBeginningIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := workers(t, strategy.Strategy{}, optimizer.SGD{LR: 1}, false)
		all[1].Store().SetStep(3)
		for rank, err := range apart(all, func(c *copyOf) error { return c.Join(context.WithoutCancel(t.Context())) }) {
			if err == nil || !strings.Contains(err.Error(), "step") {
				t.Errorf("worker %d of two that begin apart: %v", rank, err)
			}
		}
	})
}

// TestAnotherBuildIsNamed: a worker that builds another job, perhaps since its build knows more of a rule, is told of
// with both builds.
//
// Promise: [G12] workers of a collective job are told which builds differ
func TestAnotherBuildIsNamed(t *testing.T) {
	other := `"fingerprint":["beginning\tanother"]`
	for says, want := range map[string]string{
		`{"build":"v9.8.7",` + other + `}`:               fmt.Sprintf(`; worker 1 has gofleet "v9.8.7", worker 0 %q: upgrade the earlier`, wire.Build()),
		`{"build":"` + wire.Build() + `",` + other + `}`: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			all := workers(t, strategy.Strategy{}, optimizer.SGD{LR: 1}, false)
			errs := apart(all, func(c *copyOf) error {
				ctx := context.WithoutCancel(t.Context())
				if c.rank() == 0 {
					return c.Join(ctx)
				}
				g, err := c.claim(ctx)
				if err == nil {
					err = g.Join(ctx)
				}
				if err == nil {
					_, err = g.AllGather(ctx, []byte(says))
				}
				return err
			})
			told := fmt.Sprint(errs[0])
			if !strings.Contains(told, "worker 1 builds another job: worker 0 has beginning nothing, without Restore or LoadModel, worker 1 has another") ||
				strings.Contains(told, "has gofleet") != (want != "") || !strings.Contains(told, want) {
				t.Errorf("of a worker that says %s: %v", says, errs)
			}
		})
	}
}
