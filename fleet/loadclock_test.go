package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// days is a job of periods: a part of it is saved, goes on, and goes back to what was saved; or another job goes on
// from there.
type days struct {
	servers int
	seed    uint64
	anew    bool // another job goes on
	dir     string
	says    []string // what came of what was done behind the checkpoint
}

// acts are a few things that are drawn by seed and number.
func (d *days) acts(ctx context.Context, f *fleet.Fleet, c *clicking, part uint64, told bool) error {
	r := rand.New(rand.NewPCG(d.seed, part))
	for i := range 12 {
		var says string
		switch what := r.IntN(8); {
		case what < 4:
			if err := c.train(ctx, r.IntN(2) == 0, r.Int64N(9), 9+r.Int64N(9)); err != nil {
				return err
			}
		case what < 6:
			freed, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1 + r.Uint32N(4)})
			if err != nil {
				return err
			}
			says = fmt.Sprint("dropped ", freed)
		case what < 7:
			dir := filepath.Join(d.dir, fmt.Sprintf("day %d %d", part, i))
			o := fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Unseen: 3}}
			if _, err := f.SaveModel(ctx, dir, o); err != nil {
				return err
			}
		default:
			dir := filepath.Join(d.dir, fmt.Sprintf("base %d %d", part, i))
			o := fleet.SaveOptions{Mode: fleet.SaveBase, Model: c.model(), DeltaKeepDays: 2}
			_, err := f.SaveModel(ctx, dir, o)
			if err != nil {
				return err
			}
			if says, err = loaded(dir); err != nil {
				return err
			}
		}
		if told {
			d.says = append(d.says, says)
		}
	}
	return nil
}

// run trains to the checkpoint and on, and then from it.
func (d *days) run(t *testing.T) []string {
	saved := filepath.Join(d.dir, "saved")
	play := func(load string, work func(context.Context, *fleet.Fleet, *clicking) error) {
		trial.Cluster(d.servers, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			return c.play(ctx, f, strategy.Sync(), load, func() error { return work(ctx, f, c) })
		})
	}
	then := func(ctx context.Context, f *fleet.Fleet, c *clicking) error { return d.acts(ctx, f, c, 3, true) }
	play("", func(ctx context.Context, f *fleet.Fleet, c *clicking) error {
		return first(func() error { return d.acts(ctx, f, c, 1, false) },
			func() error { return f.SavePersistables(ctx, saved) },
			func() error { return d.acts(ctx, f, c, 2, false) },
			func() error {
				if d.anew {
					return nil
				}
				return first(func() error { return f.LoadModel(ctx, saved) }, func() error { return then(ctx, f, c) })
			})
	})
	if d.anew {
		play(saved, then)
	}
	return d.says
}

// TestALoadBringsItsClock goes back to a checkpoint, some periods later: from there on the same rows are dropped, and
// served, as in a job that begins from it, alone and with a server.
//
// Promise: [G6] going back to a checkpoint brings its periods: the same rows are dropped and served from there on,
// alone, with a server and by another job
func TestALoadBringsItsClock(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 8, func(seed trial.Seed) {
		want := (&days{seed: seed.N, anew: true, dir: t.TempDir()}).run(t)
		for name, d := range trial.SomeOf(t, map[string]*days{"alone": {}, "a server": {servers: 1}, "a server, another job": {servers: 1, anew: true}}) {
			d.seed, d.dir = seed.N, t.TempDir()
			got := d.run(t)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("seed %d, %s, act %d: %s, want %s", seed.N, name, i, got[i], want[i])
				}
			}
		}
	})
}
