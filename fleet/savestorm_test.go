package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestServingWhileServersComeBack: servers that are killed and come back keep delta scores: each delta has the rows that were pushed three times
// since they were last saved, and no others. A save that was broken off between two servers is followed by a base.
func TestServingWhileServersComeBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 6, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
			dir, r := t.TempDir(), rand.New(rand.NewPCG(seed.N, 12))
			synctest.Test(t, func(t *testing.T) {
				network := trial.Latent(5 * time.Millisecond)(transport.NewMemory())
				cluster := trial.Cluster(2, 1)
				cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
				deaths := [2][]time.Duration{}
				for i := range deaths {
					deaths[i] = []time.Duration{time.Duration(1 + r.Int64N(int64(time.Second))), time.Duration(1 + r.Int64N(int64(time.Second)))}
				}
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error {
						c := trial.NewCounter(5)
						for _, p := range c.List {
							if p.Embedding {
								p.Entry.ShowClick.Threshold = .1
							}
						}
						return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error { return pushesAndDeltas(ctx, f, c, seed.N, dir) })
					}
					if f.IsServer() {
						return lives(ctx, f, network, deaths[f.ServerIndex()], []time.Duration{time.Second / 10, time.Second / 10}, play)
					}
					return play(ctx, f)
				}))
			})
		})
	})
}

// pushesAndDeltas trains, and saves deltas of what was pushed three times.
func pushesAndDeltas(ctx context.Context, f *fleet.Fleet, c *trial.Counter, seed uint64, dir string) error {
	r, pushes, ever := rand.New(rand.NewPCG(seed, 13)), map[uint64]int{}, map[uint64]float32{}
	save := func(mode fleet.SaveMode) error {
		_, err := f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: mode, Model: c, BaseThreshold: -1})
		if err != nil && strings.Contains(err.Error(), "the next is to be a base if they don't") { // server 0 came back between the two
			mode = fleet.SaveBase
			_, err = f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: mode, Model: c, BaseThreshold: -1})
		}
		if err != nil {
			return err
		}
		file, err := trial.WeightsOf(dir)
		if err != nil {
			return err
		}
		got, err := trial.TensorOf[uint64](file, "rows.ids")
		var want []uint64
		for id, n := range pushes {
			if n >= 3 || mode == fleet.SaveBase {
				want, pushes[id] = append(want, id), 0
			}
		}
		if slices.Sort(want); err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%v has rows %v, want %v", mode, got, want)
		}
		rows, failed := trial.TensorOf[float32](file, "rows")
		for i, id := range got {
			if err == nil && failed == nil && rows[2*i] != ever[id] {
				err = fmt.Errorf("%v has row %d as %v, want %v", mode, id, rows[2*i], ever[id])
			}
		}
		return errors.Join(err, failed)
	}
	if err := save(fleet.SaveBase); err != nil {
		return err
	}
	for n := range 14 {
		c.IDs = []uint64{r.Uint64N(4), 4 + r.Uint64N(4), 8 + r.Uint64N(4)}
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
		for _, id := range c.IDs {
			pushes[id]++
			ever[id]++
		}
		if n%3 == 0 {
			continue
		}
		dir += "x"
		err := save(fleet.SaveDelta)
		if errors.Is(err, fleet.ErrNoBase) {
			err = save(fleet.SaveBase)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestASaveThatEndsBetweenServers: a worker dies when server 1 is about to be told of its delta, and server 0 knows of it. All servers do then,
// and the next delta follows it.
func TestASaveThatEndsBetweenServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 1)
		dead, own, marks := make(chan struct{}), &trial.Cable{Transport: network}, atomic.Int32{}
		notes := trial.Requests(t, "server-1:1", `"work":"mark"`)
		cluster.Options.Transport = &trial.Tap{Transport: network, Before: func(endpoint string, req [][]byte) error {
			if notes(endpoint, req) && marks.Add(1) == 2 {
				synctest.Wait() // server 0 has it
				own.Pulled.Store(true)
				close(dead)
			}
			return nil
		}}
		cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := newClicking()
			if f.IsServer() {
				return c.play(ctx, f, trial.Patient(strategy.Async()), "", nil)
			}
			first, err := trial.Another(f, own)
			if err != nil {
				return err
			}
			ended := make(chan error)
			go func() {
				ended <- c.play(ctx, first, trial.Patient(strategy.Async()), "", func() error {
					return errors.Join(c.train(ctx, true, 1, 2, 3, 4, 5, 6), c.base(ctx, first, at("base")),
						c.train(ctx, true, 1, 2, 3, 4, 5, 6), c.delta(ctx, first, at("delta")))
				})
			}()
			<-dead
			next := newClicking()
			second, err := trial.Another(f, network)
			if err != nil {
				return err
			}
			err = next.play(ctx, second, trial.Patient(strategy.Async()), "", func() error {
				err := errors.Join(next.train(ctx, true, 7), next.delta(ctx, second, at("after")))
				if err == nil {
					_, err = serve.Load(at("base"), at("delta"), at("after"))
				}
				return err
			})
			first.Close()
			if <-ended == nil {
				t.Error("a worker that is cut off knows that its delta is saved")
			}
			return err
		})
	})
}

// TestBatchesWhileServersComeBack: a period that a batch ends while servers are killed ends once on each, and the batch before it is whole.
func TestBatchesWhileServersComeBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const days = 12
	trial.EachSeed(t, 5, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			s, dir := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess), t.TempDir()
			s.Recovery.Every = strategy.Duration(time.Hour)
			r := rand.New(rand.NewPCG(seed.N, 14))
			synctest.Test(t, func(t *testing.T) {
				network := trial.Latent(5 * time.Millisecond)(transport.NewMemory())
				cluster := trial.Cluster(2, 1)
				cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
				var deaths [2][]time.Duration
				for i := range deaths {
					deaths[i] = []time.Duration{time.Duration(1 + r.Int64N(int64(time.Second))), time.Duration(1 + r.Int64N(int64(time.Second)))}
				}
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error {
						c := trial.NewCounter(8)
						c.Rows.Entry.ShowClick.Threshold = .1
						return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error {
							shows := float32(0)
							for range days {
								shows = shows/2 + 1
								if err := errors.Join(c.Train(ctx, 1), failed(f.SaveModel(ctx, dir, aHalf)), wereShown(dir, shows)); err != nil {
									return err
								}
							}
							return errors.Join(f.SavePersistables(ctx, dir), wereShown(dir, shows/2))
						})
					}
					if f.IsServer() {
						return lives(ctx, f, network, deaths[f.ServerIndex()], []time.Duration{time.Second / 10, time.Second / 10}, play)
					}
					return play(ctx, f)
				}))
			})
		})
	})
}

// wereShown fails unless each of the eight rows of a checkpoint was shown so often.
func wereShown(dir string, want float32) error {
	parts, err := filepath.Glob(filepath.Join(dir, "part-*"))
	var all []float32
	for _, name := range parts {
		file, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		shows, err := trial.TensorOf[float32](file, "rows.show")
		if err != nil {
			return err
		}
		all = append(all, shows...)
	}
	if !slices.Equal(all, slices.Repeat([]float32{want}, 8)) {
		err = errors.Join(err, fmt.Errorf("shows are %v, want %v of each row", all, want))
	}
	return err
}
