package cut

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestCutsOutliveEveryEnd goes through all that can happen to a job of three servers and three workers, without a
// clock: every plan, in rounds and not, each role that ends at each message and in the middle of what server 0 does,
// messages that come twice, late and in any order, work that fails, calls that are given up. Servers return at any
// time. The promises of promises_test.go hold in every state, and when nothing moves any more.
//
// With -run it has one end at a time and few steps beside it, of which a plain run has a share. FLEET_SEEDS=all has more beside each other, and -whole all
// of it.
//
// Promise: [G6] whichever role ends at any message of any plan, though messages come twice, late, in any order: no
// torn period, no hold that stays, whole checkpoints only
func TestCutsOutliveEveryEnd(t *testing.T) {
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
				e.run(s)
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
	if !t.Failed() && !part && (states.Load() < 100_000 || rests.Load() < 1000) {
		t.Errorf("%d states, %d of them at rest: the simulator does not go where it should", states.Load(), rests.Load())
	}
}

var whole = flag.Bool("whole", false, "TestCutsOutliveEveryEnd goes through millions of states more, which takes many minutes")

// each has a scenario for every plan, asked for by the first worker.
func each(s scenario, name string) (all []*scenario) {
	for _, p := range plans {
		c := s
		c.name = fmt.Sprintf("%v, %s", p, name)
		c.plans[0] = p
		if c.plans[1] != nil {
			c.plans[1] = p
		}
		all = append(all, &c)
	}
	return all
}

var (
	one     = [simWorkers]int{0, 1, 0} // steps that are made beside a cut, of which one server has the first
	two     = [simWorkers]int{0, 2, 0}
	inTurns = [simWorkers]int{1, 1, 0} // steps of rounds, in which the third worker is parked
	both    = [simWorkers]Plan{{End}, {End}}
)

func quick() (all []*scenario) {
	all = append(all, each(scenario{ends: 1}, "an end")...)
	all = append(all, each(scenario{makes: two}, "beside steps")...)
	all = append(all, each(scenario{rounds: true, makes: inTurns}, "in rounds")...)
	all = append(all, each(scenario{plans: both}, "asked for by two")...)
	all = append(all, each(scenario{twice: 1, reports: 1}, "a message twice, a report at any time")...)
	checkpoint, period, read := [simWorkers]Plan{{Write, Commit}}, [simWorkers]Plan{{End}}, [simWorkers]Plan{{Read}}
	return append(all,
		&scenario{name: "a period, beside steps, a server ends", plans: period, makes: one, ends: 1, only: simServers},
		&scenario{name: "a period, in rounds, a server ends", plans: period, rounds: true, makes: inTurns, ends: 1,
			only: simServers},
		&scenario{name: "a checkpoint, in rounds, a server ends", plans: checkpoint, rounds: true, makes: inTurns, ends: 1,
			only: simServers, fast: true},
		&scenario{name: "a period, server 0 ends, a message twice", plans: period, ends: 1, twice: 1, only: 1},
		&scenario{name: "a reader, beside a step, a server ends, a message twice", plans: read, makes: [simWorkers]int{0, 0, 1},
			ends: 1, twice: 1, only: simServers},
		&scenario{name: "a reader, server 0 ends, a message twice", plans: read, ends: 1, twice: 1, only: 1})
}

// more is what .ci/run plays beside that.
func more() (all []*scenario) {
	all = append(all, each(scenario{makes: one, ends: 1}, "beside steps, an end")...)
	rounds := scenario{rounds: true, makes: inTurns, ends: 1, only: simServers, fast: true}
	all = append(all, each(rounds, "in rounds, a server ends")...)
	all = append(all, each(scenario{ends: 1, twice: 1, fast: true}, "an end, a message twice")...)
	return append(all,
		&scenario{name: "a period, in rounds, an end", plans: [simWorkers]Plan{{End}}, rounds: true, makes: inTurns, ends: 1},
		&scenario{name: "a period, two ends", plans: [simWorkers]Plan{{End}}, ends: 2},
		&scenario{name: "a reader, two ends", plans: [simWorkers]Plan{{Read}}, ends: 2})
}

// everything is what is left.
func everything() (all []*scenario) {
	all = append(all, each(scenario{rounds: true, makes: inTurns, ends: 1}, "in rounds, an end")...)
	all = append(all, each(scenario{ends: 1, twice: 1}, "an end, a message twice, parts take long")...)
	all = append(all, each(scenario{ends: 2}, "two ends")...)
	all = append(all, each(scenario{ends: 1, slow: true, thorough: true}, "an end, answers on their way")...)
	return all
}
