package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// The tests of this file are mistakes that other parameter servers made. Others of them stand beside the code that could make
// them:
//
//	a push counted twice, or as another worker's       TestPushCountsOnce, TestWindowKnowsAStepAgain (internal/server)
//	an update that falls through into another rule's   optimizertest's twins in float64, for every rule (optimizer)
//	deltas forgotten before they have arrived          TestGeoSumsUnderFaults, TestRecorder (internal/mode)
//	the old checkpoint gone before the new one is      TestInterruptedSaveLeavesTheOldOne, TestCommitRemovesOthers (internal/checkpoint)
//	checkpoints without the rule's state, or of        TestResumeEqualsNeverStopping, TestSavesUnderFaults
//	several moments
//	as many servers to load as have saved              TestResharding (internal/checkpoint)
//	rows read while they are written                   TestNothingIsReadHalfWritten (internal/table)
//	a process that a lost message ends                 TestHabits (internal/deps), TestServersThatFallSilent (internal/client)
//	notes that are kept for ever                       TestWindowIsBounded (internal/server), TestOwedForgetsTheOldest (internal/client)
//	no heartbeats unless asked for                     TestIdleWorkerStaysAlive (internal/client), TestDefaults (strategy)
//	options that are read and ignored                  TestFieldsOfModes (strategy), TestProcessesMustAgree
//	rows that are born from a clock or a table's size  TestRebirthIsEqual (internal/table)
//	a call into C for each row                         TestImports (internal/deps)
//	messages that are too large                        TestMaxFrame, TestGiantVariable
//	ports that do what anybody says                    TestStrangers (transport)
//	rows dropped with gradients on their way           TestRowsFetchedAheadAreNotUsedAfterADay (internal/client), TestDaysUnderFaults
//	tests that are switched off                        TestHabits (internal/deps)

// expect compares all weights, and the rows that the counter's steps touch.
func expect(ctx context.Context, c *trial.Counter, weights float32, of func(id uint64) float32) error {
	values, err := c.Values(ctx)
	for i, v := range values {
		want := weights
		if row := i - len(c.W.W); row >= 0 {
			want = of(c.IDs[row/2])
		}
		if v != want {
			return fmt.Errorf("value %d is %v, want %v", i, v, want)
		}
	}
	return err
}

// TestFirstTouchTogether has many workers touch the same new rows in the same moment: none of the gradients is lost.
func TestFirstTouchTogether(t *testing.T) {
	t.Parallel()
	const workers = 8
	ids := make([]uint64, 500)
	for i := range ids {
		ids[i] = uint64(i) * 31
	}
	fleettest.Run(t, 2, workers, trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		c.IDs = ids
		if err := errors.Join(f.BarrierWorker(ctx), c.Train(ctx, 1), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return c.Holds(ctx, workers)
	}))
}

// TestEveryRowGetsItsOwnGradient spreads ids of every size, the largest and those of the sign bit included, over servers.
func TestEveryRowGetsItsOwnGradient(t *testing.T) {
	t.Parallel()
	ids := []uint64{0, 1, 2, math.MaxInt32, math.MaxUint32, 1 << 53, math.MaxInt64, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	for i := range uint64(100) {
		ids = append(ids, i*0x9e3779b97f4a7c15)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	own := func(id uint64) float32 { return float32(id%1009) + 1 }
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, 3, 1, trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				c.IDs, c.Of = ids, own
				if err := c.Train(ctx, 1); err != nil {
					return err
				}
				return expect(ctx, c, 1, own)
			}))
		})
	}
}

// TestSkippedRowsKeepOtherGradients pushes rows of which some are left out, because they are not finite, because they are not let in, or
// both: each of the others gets its own gradient.
func TestSkippedRowsKeepOtherGradients(t *testing.T) {
	t.Parallel()
	ids := make([]uint64, 200)
	for i := range ids {
		ids[i] = uint64(i) * 7
	}
	own := func(id uint64) float32 { return float32(id) + 1 }
	for name, c := range map[string]struct {
		entry optimizer.Entry
		bad   uint64 // every id that this divides is not finite; 0 means none
	}{
		"not finite": {bad: 3}, "not let in": {entry: optimizer.Entry{Probability: 0.5}}, "both": {optimizer.Entry{Probability: 0.5}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			finite := func(id uint64) bool { return c.bad == 0 || id/7%c.bad != 0 }
			spoilt := func(id uint64) float32 {
				if !finite(id) {
					return float32(math.NaN())
				}
				return own(id)
			}
			s := strategy.Strategy{Mode: strategy.ModeSync, NotFinite: strategy.NotFiniteSkip}
			fleettest.Run(t, 2, 1, func(ctx context.Context, f *fleet.Fleet) error {
				counter := trial.NewCounter(5)
				counter.Rows.Entry, counter.IDs, counter.Of = c.entry, ids, spoilt
				return counter.Play(ctx, f, s, func() error {
					if err := counter.Train(ctx, 1); err != nil {
						return err
					}
					values, err := counter.Values(ctx)
					if err != nil {
						return err
					}
					rows := values[5:]
					kept := 0
					for i, id := range ids {
						if got := rows[2*i]; got != rows[2*i+1] || got != 0 && (got != own(id) || !finite(id)) {
							return fmt.Errorf("row %d is %v, want %v or nothing", id, rows[2*i:][:2], own(id))
						} else if got != 0 {
							kept++
						}
					}
					if least := len(ids) / 5; kept < least || kept > len(ids)-least {
						return fmt.Errorf("%d of %d rows were pushed: the test shows nothing", kept, len(ids))
					}
					return nil
				})
			})
		})
	}
}

// TestMoreWorkersThanAByteCounts has 300 of them push, each a row of its own and all the same weights.
func TestMoreWorkersThanAByteCounts(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const workers = 300
	fleettest.Run(t, 1, workers, trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		c.IDs = []uint64{uint64(f.WorkerIndex())}
		if err := errors.Join(c.Train(ctx, 1), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return expect(ctx, c, workers, func(uint64) float32 { return 1 })
	}))
}

// TestStopBeforeTheOthersStart has one worker come, train and stop before the other is there at all.
func TestStopBeforeTheOthersStart(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsWorker() && f.WorkerIndex() == 1 {
			select {
			case <-stopped:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		c := trial.NewCounter(5)
		c.IDs = []uint64{7}
		err := c.Play(ctx, f, strategy.Async(), func() error { return c.Train(ctx, 3) })
		if err == nil && f.IsFirstWorker() {
			close(stopped)
		}
		return err
	})
}

// TestRoundAveragesPresentWorkers gives every worker one more step than the one before it. Every round adds one, for as long as
// anybody is left in it: it is divided by those who pushed, not by those who were configured.
func TestRoundAveragesPresentWorkers(t *testing.T) {
	t.Parallel()
	const workers = 3
	fleettest.Run(t, 2, workers, trial.Counters(5, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		c.IDs = []uint64{7}
		if err := errors.Join(c.Train(ctx, 1+f.WorkerIndex()), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return c.Holds(ctx, workers)
	}))
}

// TestABarrierEndsWithItsContext has a worker wait for one that comes only when the wait was given up.
func TestABarrierEndsWithItsContext(t *testing.T) {
	t.Parallel()
	errEnough, gaveUp := errors.New("waited enough"), make(chan struct{})
	fleettest.Run(t, 1, 2, trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter) error {
		if f.WorkerIndex() == 1 {
			select {
			case <-gaveUp:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		waiting, cancel := context.WithCancelCause(ctx)
		canceled := make(chan struct{})
		go func() { defer close(canceled); cancel(errEnough) }()
		defer func() { <-canceled }()
		if err := f.BarrierWorker(waiting); !errors.Is(err, errEnough) {
			return fmt.Errorf("the barrier ended with %v, want %v", err, errEnough)
		}
		close(gaveUp)
		return nil
	}))
}
