package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// TestLeaversSayWhatIsSaved: all roles of a job are asked to end, as ^C does, at nearly the same moment. One worker says that the same
// command goes on, nobody warns of a loss that there is not, and what is in the directory is whole.
//
// Promise: [G5] of roles that are all asked to end one worker logs what is saved, without warnings, and nothing is
// left half-written
// Also: TestServersOfASavedJobAreAskedToEnd
func TestLeaversSayWhatIsSaved(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, countedJobs(t)) {
		trial.EachSeed(t, 6, func(seed trial.Seed) {
			t.Run(fmt.Sprint(name, " ", seed.N), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed.N, 9))
				j := &counting{Job: job, loop: "TrainFrom", latency: 3 * time.Millisecond,
					recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}}
				j.pause = func() time.Duration {
					j.mu.Lock()
					defer j.mu.Unlock()
					return time.Duration(1+r.IntN(300)) * time.Millisecond
				}
				at, spread := time.Duration(200+r.IntN(900))*time.Millisecond, []int{1, 5, 20}[seed.N%3]
				roles := map[string]time.Duration{}
				for _, role := range []string{"server 0", "server 1", "worker 0", "worker 1"} {
					roles[role] = at + time.Duration(r.IntN(spread))*time.Millisecond
				}
				j.asked = append(j.asked, roles)
				j.run(t)
				for says, times := range map[string]int{"the same command goes on": 1, "no checkpoint was saved": 0,
					"before a checkpoint is whole": 0, "training can't go on": 0, "worker is dead": 0} {
					if got := len(j.log.Lines(says)); got != times {
						t.Errorf("asked to end at %v: %q is said %d times, want %d:\n%s", roles, says, got, times, j.log.String())
					}
				}
				for _, c := range names(t, j.recovery.Dir) {
					if _, err := os.Stat(filepath.Join(j.recovery.Dir, c, "manifest.json")); err != nil {
						t.Errorf("asked to end at %v: %v", roles, err)
					}
				}
			})
		})
	}
}
