package epoch

import (
	"flag"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestEpochsOutliveEveryEnd goes through all that can happen to jobs of three members, without a clock: each role ends
// at each message and in the middle of what the leader notes, members return or never do, all go back to a checkpoint
// of any moment, messages and answers come twice and late, members want to stop. Each sample of each epoch is trained
// once, evaluations are made once under one number of shares that cover the test rows, epochs end once or again, all
// stop for one reason, and nobody waits for ever.
//
// Promise: [G6] evaluations are of all test rows, whichever workers live
//
// A plain run has a share of the smaller scenarios. FLEET_SEEDS=all has all, and more beside each other; -whole all that there are.
func TestEpochsOutliveEveryEnd(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // states are small, and copied all the time
	all := law.Some(t, quick())
	part := len(all) < len(quick())
	if os.Getenv("FLEET_SEEDS") == "all" {
		all = append(all, more()...)
	}
	if *whole {
		all = append(all, everything()...)
	}
	var states, rests atomic.Int64
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				e := newExplorer()
				e.visit(newWorld(s), func() string { return s.name })
				if e.failed != "" {
					t.Error(e.failed)
				}
				t.Logf("%d states, %d of them at rest", len(e.seen), e.rests)
				states.Add(int64(len(e.seen)))
				rests.Add(int64(e.rests))
			})
		}
	})
	t.Logf("%d states of %d scenarios, %d of them at rest", states.Load(), len(all), rests.Load())
	if !t.Failed() && !part && (states.Load() < 200_000 || rests.Load() < 1000) {
		t.Errorf("%d states, %d of them at rest: the simulator does not go where it should", states.Load(), rests.Load())
	}
}

var whole = flag.Bool("whole", false, "TestEpochsOutliveEveryEnd goes through millions of states more, which takes minutes")

var (
	apart  = simJob{Job: Job{Members: simMembers}, Epochs: 2, Leases: true}
	once   = simJob{Job: Job{Members: simMembers}, Epochs: 1, Leases: true}
	alone  = simJob{Job: Job{Members: simMembers}, Epochs: 2}
	inStep = simJob{Job: Job{Members: simMembers, InStep: true}, Epochs: 2}
	atOnce = simJob{Job: Job{Members: simMembers, InStep: true, AtOnce: true}, Epochs: 2}

	days       = simJob{Job: Job{Members: simMembers}, Epochs: 2, Leases: true, Chooses: true}
	daysAlone  = simJob{Job: Job{Members: simMembers}, Epochs: 1, Chooses: true}
	daysInStep = simJob{Job: Job{Members: simMembers, InStep: true}, Epochs: 2, Chooses: true}

	short, uneven = [simMembers]int{1, 1, 1}, [simMembers]int{2, 2, 1}
)

func quick() []*scenario {
	return []*scenario{
		{name: "undisturbed", job: apart, units: uneven, every: true},
		{name: "a message twice", job: apart, units: short, twice: 1},
		{name: "an end", job: apart, units: short, ends: 1},
		{name: "an end, between steps", job: once, units: uneven, every: true, ends: 1},
		{name: "two ends of one epoch", job: once, units: short, ends: 2},
		{name: "an end, no leases", job: alone, units: short, ends: 1},
		{name: "an end, a message twice", job: once, units: short, ends: 1, twice: 1},
		{name: "back, between steps", job: once, units: uneven, every: true, backs: 2},
		{name: "an end, back", job: alone, units: short, ends: 1, only: 2, backs: 1},
		{name: "a stop", job: apart, units: short, stops: 1},
		{name: "a stop, an end", job: once, units: short, stops: 1, ends: 1},
		{name: "in step, an end", job: inStep, units: uneven, every: true, ends: 1},
		{name: "in step, back twice, the leader ends", job: inStep, units: short, ends: 1, only: simMembers + 1, backs: 2},
		{name: "in step, stops", job: atOnce, units: uneven, every: true, stops: 2},
		{name: "in step, a stop, an end", job: atOnce, units: uneven, every: true, stops: 1, ends: 1},
		{name: "days, an end", job: days, units: short, ends: 1},
		{name: "days, an end, back", job: daysAlone, units: short, ends: 1, backs: 1},
		{name: "days in step, back twice, the leader ends", job: daysInStep, units: short, ends: 1, only: simMembers + 1, backs: 2},
		{name: "days, a stop", job: days, units: short, stops: 1},
	}
}

// more is what .ci/run plays beside that.
func more() []*scenario {
	return []*scenario{
		{name: "an end, of two epochs between steps", job: apart, units: uneven, every: true, ends: 1},
		{name: "an end, back to any moment", job: apart, units: short, ends: 1, backs: 1},
		{name: "a stop, an end, of two epochs", job: apart, units: short, stops: 1, ends: 1},
		{name: "in step, between steps, back, an end", job: inStep, units: uneven, every: true, ends: 1, backs: 1},
	}
}

// everything is what is left.
func everything() []*scenario {
	return []*scenario{
		{name: "two ends", job: apart, units: short, ends: 2},
		{name: "an end, back twice", job: apart, units: short, ends: 1, backs: 2},
		{name: "an end, a message twice, of two epochs", job: apart, units: short, ends: 1, twice: 1},
		{name: "two ends between steps", job: once, units: uneven, every: true, ends: 2},
		{name: "in step, two ends", job: inStep, units: uneven, every: true, ends: 2},
	}
}
