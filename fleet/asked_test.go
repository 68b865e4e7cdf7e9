package fleet_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// TestAskedToEndAnywhere: all roles of a job in sync are asked to end, at moments of their own that are close to each other, wherever they are in a
// step, and are started again, several times: the weights are those of a job that nobody has disturbed, to the bits.
//
// Promise: [G5] a job in sync that is asked to end anywhere, even several times, reaches the bits of an undisturbed
// one
func TestAskedToEndAnywhere(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, sameBits(t)) {
		never := (&counting{Job: job, loop: "TrainFrom"}).run(t)
		trial.EachSeed(t, 6, func(seed trial.Seed) {
			t.Run(fmt.Sprint(name, " ", seed.N), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed.N, 5))
				j := &counting{Job: job, loop: "TrainFrom", latency: 3 * time.Millisecond,
					recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}}
				j.pause = func() time.Duration {
					j.mu.Lock()
					defer j.mu.Unlock()
					return time.Duration(1+r.IntN(30)) * time.Millisecond
				}
				for range 1 + r.IntN(4) {
					at, spread := time.Duration(20+r.IntN(400))*time.Millisecond, []int{1, 20, 200, 2000}[r.IntN(4)]
					roles := map[string]time.Duration{}
					for _, role := range []string{"server 0", "server 1", "worker 0", "worker 1", "worker 2"} {
						roles[role] = at + time.Duration(r.IntN(spread))*time.Millisecond
					}
					j.asked = append(j.asked, roles)
				}
				if j.run(t); !bytes.Equal(never.model, j.model) {
					t.Errorf("asked to end at %v: weights are not those of a job that was not disturbed", j.asked)
				}
			})
		})
	}
}

// sameBits are jobs whose bits repeat.
func sameBits(t *testing.T) map[string]trial.Job {
	all := countedJobs(t)
	three := all["sync"]
	three.Cluster = trial.Cluster(2, 3)
	return map[string]trial.Job{"sync": all["sync"], "sync, merged": all["sync, merged"], "three": three, "collective": all["collective"]}
}
