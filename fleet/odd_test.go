package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// odd is a worker that calls whatever it likes, in any order.
type odd struct {
	f    *fleet.Fleet
	c    *trial.Counter
	r    *rand.Rand
	dir  string
	open []optimizer.Session
	did  []string
}

// call makes one call at random.
func (o *odd) call(ctx context.Context) error {
	calls := map[string]func() error{
		"Open": func() error {
			s, err := o.c.OpenSession()
			if err == nil {
				o.open = append(o.open, s)
			}
			return err
		},
		"Begin":    o.session(func(s optimizer.Session) error { return s.Begin(ctx, o.c.Step()) }),
		"End":      o.session(func(s optimizer.Session) error { return s.End(ctx, o.c.Step()) }),
		"BeginEv":  o.session(func(s optimizer.Session) error { return s.Begin(ctx, o.look()) }),
		"EndEv":    o.session(func(s optimizer.Session) error { return s.End(ctx, o.look()) }),
		"Close":    o.session(func(s optimizer.Session) error { return s.Close(ctx) }),
		"EndEpoch": func() error { return o.c.Trainer.EndEpoch(ctx) },
		"Barrier":  func() error { return o.f.BarrierWorker(ctx) },
		"Save":     func() error { return o.f.SavePersistables(ctx, filepath.Join(o.dir, "c")) },
		"Shrink":   func() error { _, err := o.f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 100}); return err },
		"Init":     func() error { return o.f.InitWorker(ctx) },
		"Stats":    func() error { _ = o.f.Stats(); return nil },
	}
	names := []string{"Open", "Begin", "End", "Begin", "End", "Begin", "End", "BeginEv", "EndEv", "Close", "EndEpoch", "Barrier", "Save", "Shrink", "Init", "Stats"}
	name := names[o.r.IntN(len(names))]
	o.did = append(o.did, name)
	return calls[name]()
}

// look is a step that evaluates.
func (o *odd) look() *optimizer.Step {
	st := o.c.Step()
	st.Eval = true
	return st
}

func (o *odd) session(do func(optimizer.Session) error) func() error {
	return func() error {
		if len(o.open) == 0 {
			return nil
		}
		return do(o.open[o.r.IntN(len(o.open))])
	}
}

// TestCallsInAnyOrderEnd has workers call in any order: they hear what is wrong, nobody panics, and all end within the bounds of their
// waits.
func TestCallsInAnyOrderEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 12, func(seed trial.Seed) {
		for _, mode := range trial.Some(t, append(strategy.Modes(), "collective", "local")) {
			t.Run(fmt.Sprintf("%s/%d", mode, seed.N), func(t *testing.T) { oddJob(t, mode, seed.N) })
		}
	})
}

func oddJob(t *testing.T, mode strategy.Mode, seed uint64) {
	c := fleettest.Cluster{Servers: 2, Workers: 2}
	s := strategy.Strategy{Mode: mode, WaitTimeout: strategy.Duration(time.Minute)}
	switch mode {
	case "collective":
		c.Servers, s.Mode = 0, strategy.ModeSync
	case "local":
		c.Servers, c.Workers, s.Mode = 0, 1, strategy.ModeSync
	}
	if seed%3 == 0 && mode != strategy.ModeGeo {
		s.GradientMerge.KSteps = 2
	}
	dir := t.TempDir()
	c.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		o := &odd{f: f, c: trial.NewCounter(5), r: rand.New(rand.NewPCG(seed, uint64(f.WorkerIndex()))), dir: dir}
		began := time.Now()
		_, err := o.c.Join(ctx, f, s)
		if f.IsServer() {
			return nil
		}
		if err != nil {
			return err
		}
		for range 25 {
			if err := o.call(ctx); err != nil && strings.Contains(err.Error(), "panic") {
				return fmt.Errorf("%v: %w", o.did, err)
			}
		}
		err = f.StopWorker(ctx)
		again := f.StopWorker(ctx)
		stopped := time.Now()
		if after := o.call(ctx); time.Since(stopped) > time.Second {
			return fmt.Errorf("%v after StopWorker took %v: %w", o.did, time.Since(stopped), after)
		}
		if took := time.Since(began); took > time.Hour {
			return fmt.Errorf("%v, then stopping (%w, %w), took %v", o.did, err, again, took)
		}
		return nil
	})
}
