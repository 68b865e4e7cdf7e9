package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/proc"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// TestTablesMakeRoom: rows that are pushed in each step stay and miss no push, though five times as many ids come as fit, in every mode,
// with servers that die and come back, and alone; no server has more rows than its bound, and few ids are turned away.
//
// Promise: [G2] a table with an Evict makes room: rows in use miss no push and new ids get rows
// Also: TestEvictKeepsTheMostUseful (internal/table)
func TestTablesMakeRoom(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{"", strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP} {
		for _, dies := range []bool{false, true} {
			servers, workers, s := 2, 2, strategy.Strategy{Mode: mode}
			if mode == "" {
				servers, workers, s = 0, 1, strategy.Sync()
			}
			if dies && servers == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s dies=%t", mode, dies), func(t *testing.T) {
				s.HeartbeatInterval = strategy.Duration(100 * time.Millisecond)
				s = trial.Patient(s)
				if dies {
					s = journaled(s, t.TempDir(), strategy.JournalMachine)
				}
				synctest.Test(t, func(t *testing.T) { makeRoom(t, s, servers, workers, dies) })
			})
		}
	}
}

// TestMemoryBoundsTables: an embedding without MaxBytes makes room within its part of the memory of the server's control group, also where a
// server comes back from its journal; a job whose strategy names none refuses its Evict.
func TestMemoryBoundsTables(t *testing.T) {
	// Serial: the limit is of the process.
	defer func(of func() int64) { proc.MemoryLimit = of }(proc.MemoryLimit)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40)) // which is not set from the group's then
	proc.MemoryLimit = func() int64 { return 1200 * 56 * 4 }
	s := trial.Patient(strategy.Strategy{MaxMemory: 0.25, HeartbeatInterval: strategy.Duration(100 * time.Millisecond)})
	for _, dies := range []bool{false, true} {
		if dies {
			s = journaled(s, t.TempDir(), strategy.JournalMachine)
		}
		synctest.Test(t, func(t *testing.T) { makeRoom(t, s, 2, 2, dies) })
	}
	f, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
	law.Check(t, err)
	defer f.Close()
	c := trial.NewCounter(3)
	c.Rows.Evict.By = optimizer.EvictUnused
	if _, err := local.Minimize(c, optimizer.SGD{LR: 1}); err == nil || !strings.Contains(err.Error(), "within MaxBytes") {
		t.Errorf("Evict without a bound, without a fleet: %v", err)
	}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Async())
	law.Check(t, err)
	if err := opt.Minimize(c); err == nil || !strings.Contains(err.Error(), "max_memory") {
		t.Errorf("Evict without a bound: %v", err)
	}
}

func makeRoom(t *testing.T, s strategy.Strategy, servers, workers int, dies bool) {
	const hot, fresh, steps, room = 8, 12, 300, 1200
	bound := int64(room * 56)
	var mu sync.Mutex
	var dropped, away uint64
	r := rand.New(rand.NewPCG(1, 1))
	cluster, network := quiet(servers, workers)
	var deaths, pauses [2][]time.Duration
	for i := range deaths {
		for range 3 {
			deaths[i] = append(deaths[i], time.Second+time.Duration(r.Int64N(int64(2*time.Second))))
			pauses[i] = append(pauses[i], time.Duration(r.Int64N(int64(time.Second/2))))
		}
	}
	play := func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(3)
		if c.Rows.Evict.By = optimizer.EvictUnused; s.MaxMemory == 0 {
			c.Rows.MaxBytes = bound
		}
		err := trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error {
			next := uint64(f.WorkerIndex()+1) << 40
			err := c.InSession(ctx, func(session optimizer.Session) error {
				for range steps {
					c.IDs = c.IDs[:0]
					for id := range uint64(hot) {
						c.IDs = append(c.IDs, id<<32)
					}
					for range fresh {
						c.IDs, next = append(c.IDs, next), next+1
					}
					if err := c.Steps(ctx, session, 1); err != nil {
						return err
					}
					time.Sleep(25 * time.Millisecond)
				}
				return c.Trainer.EndEpoch(ctx)
			})
			if err == nil {
				err = f.BarrierWorker(ctx)
			}
			if err != nil || f.WorkerIndex() > 0 {
				return err
			}
			want, rows := float32(steps*workers), 0
			if s.Mode == strategy.ModeSync {
				want = steps
			}
			for row, err := range f.Rows(ctx, "rows") {
				law.Check(t, err)
				if rows++; row.ID>>32 < hot && row.ID&(1<<32-1) == 0 && row.W[0] != want {
					t.Errorf("row %#x has %v pushes, want %v", row.ID, row.W[0], want)
				}
			}
			if most := max(1, servers) * room; rows > most || rows < most/2 {
				t.Errorf("%d rows are left, where %d fit", rows, most)
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		for _, table := range f.Stats().Tables {
			dropped, away = dropped+table.Dropped, away+table.TurnedAway
		}
		return err
	}
	trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsServer() && dies {
			return lives(ctx, f, network, deaths[f.ServerIndex()], pauses[f.ServerIndex()], play)
		}
		return play(ctx, f)
	}))
	if all := uint64(steps * workers * fresh); dropped < 100 || away > all/20 {
		t.Errorf("%d rows were dropped, and %d of %d ids turned away", dropped, away, all)
	}
}

// TestWhatMadeRoomIsServedNoMore: a base with its deltas has the rows that the table has, though rows were dropped in between.
func TestWhatMadeRoomIsServedNoMore(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		dirs := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			cluster, _ := quiet(servers, 1)
			trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				o := nn.EmbeddingOptions{Name: "rows", Dim: 1, MaxBytes: 40_000, Evict: optimizer.Evict{By: optimizer.EvictUnused}}
				out := nn.Embedding(g.IDs("id", 1), o).Named("out")
				return trial.PlayGraph(ctx, f, nn.Mean(out), optimizer.SGD{LR: 1}, strategy.Async(), func(exe *nn.Executor) error {
					deltas, gone, next := []string(nil), false, int64(0)
					save := fleet.SaveOptions{Mode: fleet.SaveBase, Model: nn.Inference(out)}
					for day := range 6 {
						for range 10 {
							ids := make([]int64, 30)
							for i := range ids {
								ids[i], next = next, next+1
							}
							if _, err := exe.Train(ctx, map[string]*tensor.Dense{"id": tensor.New(tensor.WithShape(30, 1), tensor.WithBacking(ids))}); err != nil {
								return err
							}
							time.Sleep(time.Second)
						}
						time.Sleep(10 * time.Second) // heartbeats ask for room, and no more rows come
						dir := fmt.Sprintf("%s/%d", dirs, day)
						if _, err := f.SaveModel(ctx, dir, save); err != nil {
							return err
						}
						if save.Mode = fleet.SaveDelta; day > 0 {
							deltas = append(deltas, dir)
						}
						m, err := serve.Load(dirs+"/0", deltas...)
						if err != nil {
							return err
						}
						served, has := map[uint64]float32{}, map[uint64]float32{}
						for _, p := range m.Graph.Params() {
							law.Check(t, p.Rows.EachRow(func(ids []uint64, w []float32) error {
								for i, id := range ids {
									served[id] = w[i]
								}
								return nil
							}))
						}
						for row, err := range f.Rows(ctx, "rows") {
							law.Check(t, err)
							has[row.ID] = row.W[0]
						}
						if gone = gone || int64(len(has)) < next; !maps.Equal(served, has) {
							t.Errorf("%d servers, day %d: %d rows are served, the table has %d", servers, day, len(served), len(has))
						}
					}
					if !gone {
						t.Error("no row was dropped")
					}
					return nil
				})
			}))
		})
	}
}

// TestASmallerBoundMakesRoom: a checkpoint of more rows than fit into the bound of the job that loads it, on fewer servers, is loaded whole; the
// rows in use stay, and others go until the table is within its bound.
//
// Promise: [G2] a checkpoint loads under a smaller bound of a table with an Evict
func TestASmallerBoundMakesRoom(t *testing.T) {
	t.Parallel()
	const hot, rows, room = 8, 4000, 1200
	for _, servers := range []int{0, 2} {
		dir, s := t.TempDir(), trial.Patient(strategy.Strategy{Mode: strategy.ModeAsync, HeartbeatInterval: strategy.Duration(100 * time.Millisecond)})
		if servers == 0 {
			s = strategy.Sync()
		}
		life := func(servers int, from string, bound int64, work func(context.Context, *fleet.Fleet, *trial.Counter, optimizer.Session) error) {
			synctest.Test(t, func(t *testing.T) {
				cluster, _ := quiet(servers, 1)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(3)
					if c.Rows.MaxBytes = bound; bound > 0 {
						c.Rows.Evict.By = optimizer.EvictUnused
					}
					law.Check(t, trial.Minimize(f, c, optimizer.SGD{LR: 1}, s))
					return trial.Begin(ctx, f, from, func() error {
						return c.InSession(ctx, func(session optimizer.Session) error { return work(ctx, f, c, session) })
					})
				}))
			})
		}
		steps := func(ctx context.Context, c *trial.Counter, session optimizer.Session, first, n uint64) error {
			c.IDs = c.IDs[:0]
			for id := range n {
				c.IDs = append(c.IDs, (first+id)<<32)
			}
			return c.Steps(ctx, session, 1)
		}
		life(servers, "", 0, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter, session optimizer.Session) error {
			law.Check(t, steps(ctx, c, session, 0, rows))
			law.Check(t, steps(ctx, c, session, 0, hot))
			law.Check(t, c.Trainer.EndEpoch(ctx))
			return f.SavePersistables(ctx, dir)
		})
		life(min(servers, 1), dir, room*56, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter, session optimizer.Session) error {
			for range 5 {
				law.Check(t, steps(ctx, c, session, 0, hot))
				time.Sleep(time.Second)
			}
			law.Check(t, c.Trainer.EndEpoch(ctx))
			left, counts := 0, map[float32]int{}
			for row, err := range f.Rows(ctx, "rows") {
				law.Check(t, err)
				left++
				counts[row.W[0]]++
			}
			if left > room || left < room*8/10 || counts[7] != hot || counts[1] != left-hot {
				t.Errorf("%d servers: %d rows are left where %d fit, by pushes: %v", servers, left, room, counts)
			}
			return nil
		})
	}
}
