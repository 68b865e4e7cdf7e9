package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// bowl is an objective whose gradient pulls every value down to a floor of its worker's: weight − floor.
type bowl struct {
	trial.Objective
	w, rows *optimizer.Param
	floor   float32
}

func newBowl(worker int) *bowl {
	init := optimizer.Uniform{Low: -1, High: 1}
	b := &bowl{w: trial.Dense("w", init, 6), rows: trial.Embedding("rows", init, 0, 2), floor: float32(worker) * 2}
	b.List = []*optimizer.Param{b.w, b.rows}
	return b
}

func (b *bowl) down(g, w []float32) {
	for i, v := range w {
		g[i] = v - b.floor
	}
}

// ids are those that a worker's step touches: some are its own, some everybody's, and some are never touched again.
func bowlIDs(worker, step int) []uint64 {
	all := []uint64{1, 5 + uint64(step%2), 100 + uint64(worker), 1000 + uint64(10*step+worker)}
	slices.Sort(all)
	return all
}

func (b *bowl) step(ctx context.Context, session optimizer.Session, worker, step int) error {
	r := trial.RowsOf(b.rows, bowlIDs(worker, step))
	return trial.Step(ctx, session, &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}, func() {
		b.down(b.w.G, b.w.W)
		b.down(r.G, r.W)
	})
}

const geoRate, geoRounds = 0.1, 6

// geoTwin is the original's formula, value by value, in float64: every worker's latest and old values, and the servers'.
type geoTwin struct {
	workers, k  int
	server      map[uint64]float64
	latest, old []map[uint64]float64
	touched     []map[uint64]bool
	left        []map[uint64]bool
	send        bool
	value       func(key uint64) float64 // initial
}

func newGeoTwin(workers, k int, send bool, value func(uint64) float64) *geoTwin {
	g := &geoTwin{workers: workers, k: k, send: send, server: map[uint64]float64{}, value: value}
	for range workers {
		g.latest, g.old = append(g.latest, map[uint64]float64{}), append(g.old, map[uint64]float64{})
		g.touched, g.left = append(g.touched, map[uint64]bool{}), append(g.left, map[uint64]bool{})
	}
	return g
}

func (g *geoTwin) at(m map[uint64]float64, key uint64) float64 {
	if v, ok := m[key]; ok {
		return v
	}
	return g.value(key)
}

func (g *geoTwin) train(w int, keys []uint64) {
	for _, key := range keys {
		v := g.at(g.latest[w], key)
		g.latest[w][key] = v - geoRate*(v-2*float64(w))
		g.touched[w][key] = true
	}
}

func (g *geoTwin) exchange(w, n int) {
	for key := range g.left[w] {
		if !g.touched[w][key] {
			g.give(w, key, 1)
		}
	}
	g.left[w] = map[uint64]bool{}
	for key := range g.touched[w] {
		g.give(w, key, float64(n))
		g.left[w][key] = g.send
	}
	if !g.send {
		g.left[w] = map[uint64]bool{}
	}
	g.touched[w] = map[uint64]bool{}
	for key := range g.server {
		p, old := g.server[key], g.at(g.old[w], key)
		g.latest[w][key] = g.at(g.latest[w], key) + p - old
		g.old[w][key] = p
	}
}

func (g *geoTwin) give(w int, key uint64, n float64) {
	old := g.at(g.old[w], key)
	delta := (g.at(g.latest[w], key) - old) / n
	g.old[w][key] = old + delta
	g.server[key] = g.at(g.server, key) + delta
}

// TestGeoIsItsFormula has two workers train and exchange in turn, and compares the servers with the formula in float64: as the
// original leaves them, and with what exchanges leave sent on.
func TestGeoIsItsFormula(t *testing.T) {
	t.Parallel()
	const workers, k = 2, 3
	for _, rest := range []strategy.GeoRest{strategy.GeoRestSend, strategy.GeoRestKeep} {
		t.Run(string(rest), func(t *testing.T) {
			first := newBowl(0)
			const dense = 1 << 40 // keys of dense values begin here, those of rows are twice the id and column
			twin := newGeoTwin(workers, k, rest == strategy.GeoRestSend, func(key uint64) float64 {
				if key >= dense {
					return float64(first.w.W[key-dense])
				}
				var row [2]float32
				first.rows.InitRow(row[:], key/2)
				return float64(row[key%2])
			})
			for round := range geoRounds {
				for w := range workers {
					for step := round * k; step < (round+1)*k; step++ {
						var keys []uint64
						for i := range uint64(6) {
							keys = append(keys, dense+i)
						}
						for _, id := range bowlIDs(w, step) {
							keys = append(keys, 2*id, 2*id+1)
						}
						twin.train(w, keys)
					}
					twin.exchange(w, workers)
				}
			}
			if twin.send {
				for w := range workers {
					for key := range twin.latest[w] {
						twin.touched[w][key] = true
					}
					twin.exchange(w, 1)
				}
			}

			dir := t.TempDir()
			turns := []chan bool{make(chan bool, 1), make(chan bool, 1)}
			turns[0] <- true
			var ready sync.WaitGroup
			ready.Add(workers)
			s := strategy.Geo(k)
			s.GeoRest = rest
			fleettest.Run(t, 2, workers, func(ctx context.Context, f *fleet.Fleet) error { return alternate(ctx, f, s, &ready, turns, dir) })

			model := trial.Weights(t, dir)
			for i, got := range trial.Tensor[float32](t, model, "w") {
				close64(t, "w", i, got, twin.server[dense+uint64(i)])
			}
			rows := trial.Tensor[float32](t, model, "rows")
			for i, id := range trial.Tensor[uint64](t, model, "rows.ids") {
				for c := range 2 {
					close64(t, "row", int(id), rows[2*i+c], twin.at(twin.server, 2*id+uint64(c)))
				}
			}
			if n := len(trial.Tensor[uint64](t, model, "rows.ids")); n != len(twin.server)/2-3 {
				t.Errorf("the servers have %d rows, want %d", n, len(twin.server)/2-3)
			}
		})
	}
}

func close64(t *testing.T, what string, i int, got float32, want float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); d > 1e-4*math.Abs(want)+1e-6 {
		t.Errorf("%s %d is %v, the formula gives %v", what, i, got, want)
	}
}

// alternate trains in turns: a worker's exchange is over before the next begins to train.
func alternate(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, ready *sync.WaitGroup, turns []chan bool, dir string) error {
	w := max(f.WorkerIndex(), 0)
	b := newBowl(w)
	return trial.Play(ctx, f, b, optimizer.SGD{LR: geoRate}, s, func() error {
		session, err := b.OpenSession()
		if err != nil {
			return err
		}
		// Both have what servers had at first before one begins to train.
		if err := trial.Look(ctx, session, trial.RowsOf(b.rows, nil)); err != nil {
			return err
		}
		ready.Done()
		ready.Wait()
		turn := func(round int) error {
			<-turns[w]
			defer func() { turns[1-w] <- true }()
			for step := round * s.KSteps; step < (round+1)*s.KSteps; step++ {
				if err := b.step(ctx, session, w, step); err != nil {
					return err
				}
			}
			return b.Trainer.EndEpoch(ctx)
		}
		for round := range geoRounds {
			if err := turn(round); err != nil {
				return err
			}
		}
		return trial.SaveTogether(ctx, f, dir, b) // whose barrier sends what is left
	})
}

// TestGeoCopiesAgree trains rows that are one worker's own and rows that are everybody's over a network that loses, repeats
// and delays messages. When all is settled the workers' copies are the same bits, also of rows that a worker alone has trained,
// which no server sends back to it.
func TestGeoCopiesAgree(t *testing.T) {
	t.Parallel()
	const workers, steps = 3, 17
	trial.EachSeed(t, 8, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			var mu sync.Mutex
			var copies [][]float32
			seed.Simulate(t, workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
				b := newBowl(max(f.WorkerIndex(), 0))
				return trial.Play(ctx, f, b, optimizer.SGD{LR: geoRate}, trial.Patient(strategy.Geo(3)), func() error {
					values, err := b.trainAndRead(ctx, f, steps)
					mu.Lock()
					defer mu.Unlock()
					copies = append(copies, values)
					return err
				})
			})
			for _, other := range copies {
				if diff := cmp.Diff(copies[0], other); diff != "" || len(copies) != workers {
					t.Errorf("two of %d copies differ: %s", len(copies), diff)
				}
			}
		})
	})
}

// trainAndRead trains the bowl, and reads all that this worker has of it when everybody has trained.
func (b *bowl) trainAndRead(ctx context.Context, f *fleet.Fleet, steps int) (values []float32, err error) {
	var ids []uint64
	for w := range f.WorkerNum() {
		for step := range steps {
			ids = append(ids, bowlIDs(w, step)...)
		}
	}
	slices.Sort(ids)
	all := trial.RowsOf(b.rows, slices.Compact(ids))
	err = b.InSession(ctx, func(session optimizer.Session) error {
		for step := range steps {
			if err := b.step(ctx, session, f.WorkerIndex(), step); err != nil {
				return err
			}
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		return trial.Look(ctx, session, all)
	})
	return append(slices.Clone(b.w.W), all.W...), err
}

// TestGeoOutlivesACall has a save give up while it waits for an exchange: that comes to its end all the same, and the worker's copy is what it
// was.
//
// Promise: [G1] a call of mode geo that is given up leaves its exchange whole; a cut of a dead worker does not begin;
// a goodbye without an answer is sent again
// Also: TestALostGoodbye, TestALostGoodbyeWithAJournal
func TestGeoOutlivesACall(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	wrap := func(below transport.Transport) transport.Transport {
		return &trial.Tap{Transport: below, Before: func(string, [][]byte) error {
			if slow.Load() {
				time.Sleep(2 * time.Second)
			}
			return nil
		}}
	}
	dir := t.TempDir()
	trial.Cluster(2, 2).Simulate(t, wrap, trial.Counters(4, strategy.Geo(2), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		if err := errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		slow.Store(true)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := f.SavePersistables(soon, dir); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the save: %w, want it to give up", err)
		}
		slow.Store(false)
		if err := errors.Join(c.Train(ctx, 3), f.SavePersistables(ctx, dir), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return c.Holds(ctx, 12)
	}))
}

// TestGeoRefuses names what geo can't do.
func TestGeoRefuses(t *testing.T) {
	t.Parallel()
	for says, try := range map[string]struct {
		rule   optimizer.Rule
		change func(*bowl)
	}{
		`"w" has adam`:    {optimizer.Adam{}, func(*bowl) {}},
		"MaxBytes unset":  {optimizer.SGD{}, func(b *bowl) { b.rows.MaxBytes = 1 << 20 }},
		"leave its Entry": {optimizer.SGD{}, func(b *bowl) { b.rows.Entry = optimizer.Entry{CountFilter: 3} }},
	} {
		trial.Refused(t, trial.Cluster(1, 1), says, func(_ context.Context, f *fleet.Fleet) error {
			b := newBowl(0)
			try.change(b)
			return trial.Minimize(f, b, try.rule, strategy.Geo(10))
		})
	}
}
