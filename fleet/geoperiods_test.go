package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// tally is what a job in geo has come to at a barrier: how often each row was trained since it was born, and in which period last.
type tally struct {
	rows   map[uint64]float32
	seen   map[uint64]int
	period int
	dense  float32
}

func (a tally) clone() tally {
	a.rows, a.seen = maps.Clone(a.rows), maps.Clone(a.seen)
	return a
}

func (a *tally) end(unseen int) (dropped int) {
	for id, last := range a.seen {
		if unseen > 0 && a.period-last >= unseen {
			dropped++
			delete(a.rows, id)
			delete(a.seen, id)
		}
	}
	a.period++
	return dropped
}

// geoStory is a drawn job in geo: all workers draw the same acts, and know what each of them trains.
type geoStory struct {
	seed    uint64
	workers int
	k       int
	dir     string

	mu   sync.Mutex
	kept map[string]tally // by directory
}

const geoIDs = 9

// play has a worker make the acts, and compare its copy and the servers' rows with the count after each.
func (g *geoStory) play(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
	r := rand.New(rand.NewPCG(g.seed, 77))
	now := tally{rows: map[uint64]float32{}, seen: map[uint64]int{}}
	for act := range 9 {
		for w := range g.workers {
			ids, steps := []uint64{r.Uint64N(geoIDs), 100 + r.Uint64N(geoIDs), 1000 + 10*uint64(w) + r.Uint64N(3)}, 1+r.IntN(3*g.k)
			for _, id := range ids {
				now.rows[id] += float32(steps)
				now.seen[id] = now.period
			}
			now.dense += float32(steps)
			if c.IDs = ids; w == f.WorkerIndex() {
				if err := c.Train(ctx, steps); err != nil {
					return err
				}
			}
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		acted, err := g.act(ctx, f, r, &now, act)
		if err == nil && acted { // its copy follows at once, the others' where they meet
			err = g.compare(ctx, f, c, &now)
		}
		if err != nil {
			return fmt.Errorf("act %d: %w", act, err)
		}
		if err := errors.Join(f.BarrierWorker(ctx), g.compare(ctx, f, c, &now), f.BarrierWorker(ctx)); err != nil {
			return fmt.Errorf("behind act %d: %w", act, err)
		}
	}
	return nil
}

// act ends a period, saves a batch, or loads one that was saved before, by one worker or by all; acted says that this one did.
func (g *geoStory) act(ctx context.Context, f *fleet.Fleet, r *rand.Rand, now *tally, act int) (acted bool, err error) {
	kind, unseen, who := r.IntN(4), r.IntN(3), r.IntN(g.workers+1)
	acted = who == g.workers || who == f.WorkerIndex()
	o := fleet.ShrinkOptions{Unseen: uint32(unseen)}
	dir := filepath.Join(g.dir, fmt.Sprint(act))
	switch {
	case kind == 3 && act > 3:
		acted = who == f.WorkerIndex() || who == g.workers && f.IsFirstWorker()
		return acted, g.load(ctx, f, r, now, acted)
	case kind == 2 || kind == 3:
		g.mu.Lock()
		if g.kept[dir].rows == nil {
			g.kept[dir] = now.clone()
		}
		g.mu.Unlock()
		now.end(unseen)
		if acted {
			err = failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: o}))
		}
		return acted, err
	}
	want := now.end(unseen)
	if !acted {
		return false, nil
	}
	freed, err := f.Shrink(ctx, o)
	if got := freed["rows"].Rows; err == nil && got != want {
		err = fmt.Errorf("%d rows were dropped, want %d", got, want)
	}
	return true, err
}

// load goes back to one of the batches, all of it or its rows alone.
func (g *geoStory) load(ctx context.Context, f *fleet.Fleet, r *rand.Rand, now *tally, mine bool) error {
	g.mu.Lock()
	dirs := slices.Sorted(maps.Keys(g.kept))
	g.mu.Unlock()
	some := r.IntN(2) == 0
	if len(dirs) == 0 {
		return nil
	}
	dir := dirs[r.IntN(len(dirs))]
	g.mu.Lock()
	then, dense := g.kept[dir].clone(), now.dense
	g.mu.Unlock()
	*now = then
	var params []string
	if some {
		now.dense, params = dense, []string{"rows"}
	}
	if !mine {
		return nil
	}
	return f.LoadModel(ctx, dir, params...)
}

// compare has the worker's copy read all ids, and the servers list theirs.
func (g *geoStory) compare(ctx context.Context, f *fleet.Fleet, c *trial.Counter, now *tally) error {
	var ids []uint64
	for id := range uint64(geoIDs) {
		ids = append(ids, id, 100+id)
	}
	for w := range g.workers {
		ids = append(ids, 1000+10*uint64(w), 1001+10*uint64(w), 1002+10*uint64(w))
	}
	slices.Sort(ids)
	c.IDs = ids
	values, err := c.Values(ctx)
	if err != nil {
		return err
	}
	near := func(what string, got, want float32) error {
		if d := got - want; d > 1e-3 || d < -1e-3 {
			return fmt.Errorf("%s is %v, want %v", what, got, want)
		}
		return nil
	}
	n := len(values) - 2*len(ids)
	for _, v := range values[:n] {
		if err := near("a dense weight", v, now.dense); err != nil {
			return err
		}
	}
	for i, id := range ids {
		if err := near(fmt.Sprintf("row %d of the copy", id), values[n+2*i], now.rows[id]); err != nil {
			return err
		}
	}
	found := map[uint64]bool{}
	for row, err := range f.Rows(ctx, "rows") {
		if err != nil {
			return err
		}
		found[row.ID] = true
		if err := near(fmt.Sprintf("row %d of servers", row.ID), row.W[0], now.rows[row.ID]); err != nil {
			return err
		}
	}
	for id := range now.seen {
		if !found[id] {
			return fmt.Errorf("row %d is gone", id)
		}
	}
	if len(found) != len(now.seen) {
		return fmt.Errorf("servers have %d rows, want %d", len(found), len(now.seen))
	}
	return nil
}

// TestPeriodsAndLoadsInGeo: periods end, batches are saved and loads are taken by one worker or by all, in drawn jobs whose workers train
// uneven shares: servers have the rows that they should, and each worker's copy is what servers have, also over networks that lose messages.
//
// Promise: [G6] in geo periods end, batches are saved and loads are taken with the rows that other modes come to, and
// each worker's copy follows, from the middle of an exchange too, whoever is started again
// Also: TestGeoFollowsCuts, TestRecorder (internal/mode), TestOldAgainstMaps (internal/table)
func TestPeriodsAndLoadsInGeo(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 20, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			workers := 2 + int(seed.N%2)
			g := &geoStory{seed: seed.N, workers: workers, k: 1 + int(seed.N/2%3), dir: t.TempDir(), kept: map[string]tally{}}
			program := trial.Counters(2, trial.Patient(strategy.Geo(g.k)), g.play)
			if seed.N%3 > 0 {
				synctest.Test(t, func(t *testing.T) {
					c, _ := quiet(1+int(seed.N/3%3), workers)
					c.Run(t, program)
				})
				return
			}
			seed.Simulate(t, workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error { return program(ctx, f) })
		})
	})
}

// besideGeo has each worker train some ids out of few, another some each time, while worker 0 ends periods or loads meanwhile, and
// compares its copy with what servers have when all have trained.
func besideGeo(ctx context.Context, f *fleet.Fleet, c *trial.Counter, seed uint64, saved string) error {
	r := rand.New(rand.NewPCG(seed, uint64(f.WorkerIndex())))
	for range 12 {
		c.IDs = []uint64{r.Uint64N(6), 6 + r.Uint64N(6), 12 + r.Uint64N(6)}
		if err := c.Train(ctx, 1+r.IntN(5)); err != nil {
			return err
		}
		var err error
		switch r.IntN(3*f.WorkerNum()) + 3*f.WorkerIndex() { // worker 0 does it often
		case 0, 1:
			_, err = f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1})
		case 2:
			err = f.LoadModel(ctx, saved, "rows")
		}
		if err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	c.IDs = nil
	for id := range uint64(18) {
		c.IDs = append(c.IDs, id)
	}
	values, err := c.Values(ctx)
	if err != nil {
		return err
	}
	values = values[len(values)-36:]
	for row, err := range f.Rows(ctx, "rows") {
		if err != nil {
			return err
		}
		if values[2*row.ID] != row.W[0] {
			return fmt.Errorf("row %d of the copy is %v, servers have %v", row.ID, values[2*row.ID], row.W[0])
		}
		values[2*row.ID], values[2*row.ID+1] = 0, 0
	}
	for i, v := range values {
		if v != 0 {
			return fmt.Errorf("row %d of the copy is %v, servers have none", i/2, v)
		}
	}
	return f.BarrierWorker(ctx)
}

// TestGeoFollowsCuts: whoever trains while a worker ends periods and loads rows, and was in the middle of an exchange, comes to what
// servers have: over networks that lose messages, where servers that keep a journal are killed, and where a worker's next life joins.
func TestGeoFollowsCuts(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved := filepath.Join(t.TempDir(), "saved")
	trial.Cluster(1, 1).Run(t, trial.Counters(9, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		c.IDs = []uint64{1, 2, 3, 7, 8, 15}
		return errors.Join(c.Train(ctx, 1000), f.SavePersistables(ctx, saved))
	}))
	trial.EachSeed(t, 18, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			s := trial.Patient(strategy.Geo(1 + int(seed.N/3%4)))
			work := func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				return besideGeo(ctx, f, c, seed.N, saved)
			}
			if seed.N%3 == 0 {
				seed.Simulate(t, 2, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return trial.Counters(9, s, work)(ctx, f)
				})
				return
			}
			if s.HeartbeatInterval = strategy.Duration(20 * time.Millisecond); seed.N%3 == 1 {
				s = journaled(s, t.TempDir(), strategy.JournalProcess)
				s.Recovery.Every = strategy.Duration(time.Duration(110+seed.N) * time.Millisecond)
			}
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 3)
				cluster.Options.Transport = trial.Latent(5 * time.Millisecond)(network)
				cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(9, s, work)
					r := rand.New(rand.NewPCG(seed.N, 5))
					death, pause := time.Duration(20+r.IntN(100))*time.Millisecond, time.Duration(r.IntN(50))*time.Millisecond
					if seed.N%3 == 1 && f.IsServer() || seed.N%3 == 2 && f.WorkerIndex() == 2 {
						return lives(ctx, f, cluster.Options.Transport, []time.Duration{death + time.Duration(f.ServerIndex()+1)*100*time.Millisecond},
							[]time.Duration{pause}, play)
					}
					return play(ctx, f)
				})
			})
		})
	})
}
