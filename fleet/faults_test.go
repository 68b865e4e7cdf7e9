package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestEveryPushCountsOnce loses, repeats, delays, reorders, cuts and damages messages by seed, and leaves some unanswered:
// afterwards the sums are exact. FLEET_SEEDS=10000 runs that many schedules; FLEET_SEED=n runs the one that failed.
//
// Promise: [G1] pushes are summed exactly though messages are lost, repeated, late, reordered, cut and damaged by
// seed; `FLEET_SEEDS` says how many schedules
// Also: TestGeoSumsUnderFaults, TestGeoCopiesAgree
func TestEveryPushCountsOnce(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const steps, workers = 8, 3
	// Modes that share most of their way with sync and async take turns.
	rarer := []strategy.Strategy{strategy.HalfAsync(), strategy.SSP(1), {MaxMergeVarNum: 8, SendQueueSize: 3, MaxFrame: 8192},
		{ThreadPoolSize: 3, SendQueueSize: 8, MaxFrame: 8192}}
	trial.EachSeed(t, 24, func(seed trial.Seed) {
		for _, s := range trial.Some(t, []strategy.Strategy{strategy.Sync(), strategy.Async(), {Mode: strategy.ModeSync, MaxFrame: 4096}, trial.Measured,
			{MaxFrame: 4096}, rarer[seed.N%uint64(len(rarer))]}) {
			s = trial.Lossy(s)
			want := float32(steps * workers)
			if s.Mode == strategy.ModeSync {
				want = steps // a round averages its workers' gradients, so it counts once
			}
			t.Run(fmt.Sprintf("%s/%d/%d", s.Mode, s.MaxFrame, seed.N), func(t *testing.T) {
				seed.Simulate(t, workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return trial.Count(ctx, f, s, steps, want)
				})
			})
		}
	})
}

// turning is a line that turns over one bit in the header of every fourth frame or of its answer, as a seed draws them, though it says that
// it damages nothing.
type turning struct {
	transport.Transport
	mu   sync.Mutex
	dice *rand.Rand
}

func (*turning) Guards(string) bool { return true }

func (l *turning) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	const envelope, first, last = 16, 5, 64 // bytes: the protocol's magic and version aside
	l.mu.Lock()
	bit, fault := 8*(envelope+first)+l.dice.IntN(8*(last-first)), l.dice.IntN(8)
	l.mu.Unlock()
	turn := func(b []byte) []byte {
		if bit < 8*len(b) {
			b = bytes.Clone(b)
			b[bit/8] ^= 1 << (bit % 8)
		}
		return b
	}
	switch fault {
	case 0:
		req = [][]byte{turn(bytes.Join(req, nil))}
	case 1:
		return l.Transport.Call(ctx, endpoint, req, func(b []byte) error { return read(turn(b)) })
	}
	return l.Transport.Call(ctx, endpoint, req, read)
}

// TestTurnedBitsOfHeaders: where no transport looks, a bit of a frame's header that is turned over makes no other frame of it: it is sent again,
// and every push counts once.
//
// Promise: [G12] no bit that is turned over in a frame's header, or in the head of one of its sections, makes another
// frame of it, whatever the network is: it is refused, and sent again
func TestTurnedBitsOfHeaders(t *testing.T) {
	t.Parallel()
	const steps, workers = 8, 3
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), strategy.HalfAsync(), strategy.SSP(1), {MaxFrame: 4096}} {
		s, want := trial.Lossy(s), float32(steps*workers)
		if s.Mode == strategy.ModeSync {
			want = steps // a round averages its workers' gradients, so it counts once
		}
		t.Run(fmt.Sprintf("%s/%d", s.Mode, s.MaxFrame), func(t *testing.T) {
			line := func(below transport.Transport) transport.Transport {
				return &turning{Transport: below, dice: rand.New(rand.NewPCG(1, 2))}
			}
			trial.Cluster(2, workers).Simulate(t, line, func(ctx context.Context, f *fleet.Fleet) error {
				return trial.Count(ctx, f, s, steps, want)
			})
		})
	}
}

// TestASeedReplays runs every seed twice: all that is sent meets the same faults in both runs, to the last heartbeat; and where roles are killed,
// each process ends as it did, in the same moment but for some milliseconds: which of two messages of one moment is handled first is the
// scheduler's.
//
// Promise: [G1] a seed's faults are the same in every run, to the last heartbeat
// Also: TestSeedsReplay (transport/transporttest)
func TestASeedReplays(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 6, func(seed trial.Seed) {
		for _, s := range []strategy.Strategy{strategy.Sync(), {MaxFrame: 4096}} {
			s = trial.Patient(s)
			t.Run(fmt.Sprintf("%s/%d", s.Mode, seed.N), func(t *testing.T) {
				want := float32(8)
				if s.Mode != strategy.ModeSync {
					want *= 3
				}
				run := func() map[string]int {
					return seed.Simulate(t, 3, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
						return trial.Count(ctx, f, s, 8, want)
					})
				}
				if first, second := run(), run(); !maps.Equal(first, second) {
					t.Errorf("two runs of a seed met %v and %v", first, second)
				}
			})
		}
		t.Run(fmt.Sprintf("mortal/%d", seed.N), func(t *testing.T) {
			run := func() map[string]time.Time {
				m := drawMortal(seed, t.TempDir())
				m.run(t)
				return m.ends
			}
			same := func(a, b time.Time) bool { return a.Sub(b).Abs() <= 10*time.Millisecond }
			if first, second := run(), run(); !maps.EqualFunc(first, second, same) {
				t.Errorf("two runs of a seed ended\n%v\nand\n%v", first, second)
			}
		})
	})
}
