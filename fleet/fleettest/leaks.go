package fleettest

import (
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runs counts the tests in this process that run clusters. A test's number is a label of the goroutines of its
// clusters, and of all goroutines that they start; watching maps the test's name to its number, until the test ends.
var (
	runs     atomic.Int64
	watching sync.Map
)

const label = "fleettest"

// watched calls run, and fails t when t ends if goroutines of this module that run has started still exist after
// moment. Goroutines of clusters of other tests have other labels. A test of many clusters is checked once: a check
// stops all goroutines of the process, and costs more than a small cluster.
func watched(t testing.TB, moment time.Duration, run func(context.Context) error) (err error) {
	t.Helper()
	number, again := watching.LoadOrStore(t.Name(), strconv.FormatInt(runs.Add(1), 10))
	if !again {
		t.Cleanup(func() {
			if watching.Delete(t.Name()); !t.Failed() {
				look(t, moment, number.(string))
			}
		})
	}
	pprof.Do(t.Context(), pprof.Labels(label, number.(string)), func(ctx context.Context) { err = run(ctx) })
	return err
}

// look fails t if goroutines of its clusters still exist after moment.
func look(t testing.TB, moment time.Duration, number string) {
	left := leftOf(number)
	for pause := time.Millisecond; len(left) > 0 && pause < moment; pause *= 2 {
		// goroutines that are ending need a little time
		time.Sleep(pause)
		left = leftOf(number)
	}
	if len(left) > 0 {
		t.Errorf("fleettest: goroutines of the cluster are left:\n%s", strings.Join(left, "\n\n"))
	}
}

// leftOf returns the stacks of the goroutines of a test's clusters that this module started.
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

// isOurs reports whether a goroutine's first function belongs to this module. A goroutine of a WaitGroup begins with
// the WaitGroup's function, which is skipped.
func isOurs(frames string) bool {
	all := strings.Split(strings.TrimSpace(frames), "\n")
	last := len(all) - 1
	if last > 0 && strings.Contains(all[last], "sync.(*WaitGroup).Go") {
		last--
	}
	return strings.Contains(all[last], "github.com/gofleet/gofleet/")
}
