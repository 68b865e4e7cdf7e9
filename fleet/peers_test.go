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
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// The tests of this file are mistakes that other parameter servers made. Others of them stand beside the code that could make them:
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

// play runs body as every worker of a cluster that trains a counter by SGD of rate 1.
func play(t *testing.T, servers, workers int, s strategy.Strategy, body func(ctx context.Context, f *fleet.Fleet, c *counter) error) {
	t.Helper()
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		c := newCounter(5)
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
		if err != nil {
			return err
		}
		if err := opt.Minimize(c); err != nil {
			return err
		}
		if f.IsServer() {
			if err := f.InitServer(ctx, ""); err != nil {
				return err
			}
			return f.RunServer(ctx)
		}
		return body(ctx, f, c)
	})
}

// push makes n steps over ids, which add to each row what of says, and to every weight one.
func (c *counter) push(ctx context.Context, n int, ids []uint64, of func(id uint64) float32) error {
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	for range n {
		st := c.over(ids, of)
		if err := session.Begin(ctx, st); err != nil {
			return err
		}
		if err := session.End(ctx, st); err != nil {
			return err
		}
	}
	return session.Close(ctx)
}

// over is a step over ids, whose gradients take of(id) from each value of a row.
func (c *counter) over(ids []uint64, of func(uint64) float32) *optimizer.Step {
	r := optimizer.Rows{Param: c.rows, IDs: ids, W: make([]float32, 2*len(ids))}
	for _, id := range ids {
		r.G = append(r.G, -of(id), -of(id))
	}
	return &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}
}

// expect reads all weights and the rows of ids and compares.
func (c *counter) expect(ctx context.Context, weights float32, ids []uint64, of func(uint64) float32) error {
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	st := c.over(ids, of)
	st.Eval = true
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	for i, w := range c.w.W {
		if w != weights {
			return fmt.Errorf("weight %d is %v, want %v", i, w, weights)
		}
	}
	for i, w := range st.Rows[0].W {
		if id := ids[i/2]; w != of(id) {
			return fmt.Errorf("row %d is %v, want %v", id, w, of(id))
		}
	}
	return session.Close(ctx)
}

func one(uint64) float32 { return 1 }

// TestFirstTouchTogether has many workers touch the same new rows in the same moment: none of the gradients is lost.
func TestFirstTouchTogether(t *testing.T) {
	const workers = 8
	ids := make([]uint64, 500)
	for i := range ids {
		ids[i] = uint64(i) * 31
	}
	play(t, 2, workers, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *counter) error {
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err := c.push(ctx, 1, ids, one); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err := c.expect(ctx, workers, ids, func(uint64) float32 { return workers }); err != nil {
			return err
		}
		return f.StopWorker(ctx)
	})
}

// TestEveryRowGetsItsOwnGradient spreads ids of every size, the largest and those of the sign bit included, over servers.
func TestEveryRowGetsItsOwnGradient(t *testing.T) {
	ids := []uint64{0, 1, 2, math.MaxInt32, math.MaxUint32, 1 << 53, math.MaxInt64, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	for i := range uint64(100) {
		ids = append(ids, i*0x9e3779b97f4a7c15)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	own := func(id uint64) float32 { return float32(id%1009) + 1 }
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, 1, s, func(ctx context.Context, f *fleet.Fleet, c *counter) error {
				if err := f.InitWorker(ctx); err != nil {
					return err
				}
				if err := c.push(ctx, 1, ids, own); err != nil {
					return err
				}
				if err := c.expect(ctx, 1, ids, own); err != nil {
					return err
				}
				return f.StopWorker(ctx)
			})
		})
	}
}

// TestSkippedRowsShiftNobody pushes rows of which some are left out, because they are not finite, because they are not let in, or
// both: each of the others gets its own gradient.
func TestSkippedRowsShiftNobody(t *testing.T) {
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
				counter := newCounter(5)
				counter.rows.Entry = c.entry
				trainer, err := counter.join(ctx, f, s)
				if err != nil || trainer == nil {
					return err
				}
				if err := counter.push(ctx, 1, ids, spoilt); err != nil {
					return err
				}
				rows, err := counter.read(ctx, ids)
				if err != nil {
					return err
				}
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
				return f.StopWorker(ctx)
			})
		})
	}
}

// read brings rows as an evaluation sees them.
func (c *counter) read(ctx context.Context, ids []uint64) ([]float32, error) {
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return nil, err
	}
	st := c.over(ids, one)
	st.Eval = true
	return st.Rows[0].W, errors.Join(session.Begin(ctx, st), session.Close(ctx))
}

// TestMoreWorkersThanAByteCounts has 300 of them push, each a row of its own and all the same weights.
func TestMoreWorkersThanAByteCounts(t *testing.T) {
	const workers = 300
	play(t, 1, workers, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *counter) error {
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		own := []uint64{uint64(f.WorkerIndex())}
		if err := c.push(ctx, 1, own, one); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err := c.expect(ctx, workers, own, one); err != nil {
			return err
		}
		return f.StopWorker(ctx)
	})
}

// TestStopBeforeTheOthersStart has one worker come, train and stop before the other is there at all.
func TestStopBeforeTheOthersStart(t *testing.T) {
	stopped := make(chan struct{})
	play(t, 2, 2, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *counter) error {
		if f.WorkerIndex() == 1 {
			select {
			case <-stopped:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		if err := c.push(ctx, 3, []uint64{7}, one); err != nil {
			return err
		}
		if err := f.StopWorker(ctx); err != nil {
			return err
		}
		if f.WorkerIndex() == 0 {
			close(stopped)
		}
		return nil
	})
}

// TestAverageOfThoseWhoAreThere gives every worker one more step than the one before it. Every round adds one, for as long as
// anybody is left in it: it is divided by those who pushed, not by those who were configured.
func TestAverageOfThoseWhoAreThere(t *testing.T) {
	const workers = 3
	play(t, 2, workers, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *counter) error {
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		if err := c.push(ctx, 1+f.WorkerIndex(), []uint64{7}, one); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if err := c.expect(ctx, workers, []uint64{7}, func(uint64) float32 { return workers }); err != nil {
			return err
		}
		return f.StopWorker(ctx)
	})
}

// TestABarrierEndsWithItsContext has a worker wait for one that comes only when the wait was given up.
func TestABarrierEndsWithItsContext(t *testing.T) {
	errEnough, gaveUp := errors.New("waited enough"), make(chan struct{})
	play(t, 1, 2, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, _ *counter) error {
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		if f.WorkerIndex() == 1 {
			select {
			case <-gaveUp:
				return f.StopWorker(ctx)
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
		return f.StopWorker(ctx)
	})
}
