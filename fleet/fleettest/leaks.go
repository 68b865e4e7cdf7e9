package fleettest

import (
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// runs counts the runs of clusters in this process. A run's number is a label of its goroutines, and of all that they
// start.
var runs atomic.Int64

const label = "fleettest"

// watched calls run, and fails t if goroutines of this module that run has started are left about a moment later.
// Goroutines of clusters that other tests run meanwhile have other labels.
func watched(t testing.TB, moment time.Duration, run func(context.Context) error) error {
	t.Helper()
	number := strconv.FormatInt(runs.Add(1), 10)
	var err error
	pprof.Do(t.Context(), pprof.Labels(label, number), func(ctx context.Context) { err = run(ctx) })
	if err != nil {
		return err
	}
	left := leftOf(number)
	for pause := time.Millisecond; len(left) > 0 && pause < moment; pause *= 2 {
		// goroutines that have been told to end do so soon
		time.Sleep(pause)
		left = leftOf(number)
	}
	if len(left) > 0 {
		t.Errorf("fleettest: goroutines of the cluster are left:\n%s", strings.Join(left, "\n\n"))
	}
	return nil
}

// leftOf are the goroutines of a run that this module started, by stack.
func leftOf(number string) (stacks []string) {
	var profile strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return []string{err.Error()}
	}
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		_, labels, _ := strings.Cut(stack, "\n# labels: ")
		labels, frames, _ := strings.Cut(labels, "\n")
		if strings.Contains(labels, strconv.Quote(label)+":"+strconv.Quote(number)) && isOurs(frames) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// isOurs says whether the function that a goroutine began with is of this module. A goroutine of a WaitGroup begins
// with that one's.
func isOurs(frames string) bool {
	all := strings.Split(strings.TrimSpace(frames), "\n")
	last := len(all) - 1
	if last > 0 && strings.Contains(all[last], "sync.(*WaitGroup).Go") {
		last--
	}
	return strings.Contains(all[last], "github.com/gofleet/gofleet/")
}
