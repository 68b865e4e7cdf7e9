package transporttest

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var labels atomic.Int64

// checkLeaks labels the goroutine of a test, and with it all goroutines that it starts, and fails the test if any of
// them still runs after the test and its cleanups.
func checkLeaks(t *testing.T) {
	mark := "exam-" + strconv.FormatInt(labels.Add(1), 10)
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("transporttest", mark)))
	t.Cleanup(func() {
		pprof.SetGoroutineLabels(context.Background())
		if left := leftovers(mark); left != "" {
			t.Errorf("goroutines are left:\n%s", left)
		}
	})
}

// leftovers returns the stacks of goroutines with the label that are still there after some time to end.
func leftovers(mark string) string {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		left := marked(mark)
		if left == "" || time.Now().After(end) {
			return left
		}
	}
}

func marked(mark string) string {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	var found []string
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, `"`+mark+`"`) && !strings.Contains(stack, "fasthttp.updateServerDate") {
			// that goroutine never ends
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}
