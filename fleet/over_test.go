package fleet_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// TestServersWaitBehindTheEnd: servers of a StatefulSet, which are started again when their job is done, wait until they are asked to end, not
// ready and with one line in the log; where workers come the job goes on from its last checkpoint. Elsewhere they give up as before.
//
// Promise: [G5] a server with FLEET_RESTART=always waits, not ready, when all workers have stopped
func TestServersWaitBehindTheEnd(t *testing.T) {
	// Serial: it sets variables of the environment.
	trial.Slow(t)
	done := &enduring{Job: trial.Jobs(t)["async"], epochs: 1, recovery: strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}}
	done.works(t)
	t.Setenv("HOSTNAME", "pd-master-0") // of an operator's pod, which is not started again
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	elsewhere := done.again()
	elsewhere.waits = time.Hour
	for role, err := range elsewhere.run(t).errs {
		if strings.HasPrefix(role, "server") && (err == nil || !strings.Contains(err.Error(), "has not joined")) {
			t.Errorf("without a StatefulSet, %s: %v", role, err)
		}
	}
	t.Setenv("FLEET_RESTART", "always")
	idle := done.again()
	idle.epochs = 2
	idle.waits = time.Hour
	idle.behind = func(f *fleet.Fleet) {
		b := f.Probed()
		f.ShowAgain()
		time.AfterFunc(30*time.Minute, func() {
			probe(t, f, "behind the end", b.Answer, "/livez", "/startupz")
		})
		time.AfterFunc(time.Hour+30*time.Second, func() {
			probe(t, f, "when workers have come", b.Answer, "/livez", "/startupz", "/readyz")
		})
	}
	idle.works(t)
	if n := len(idle.log.Lines("the job is over: this server waits")); n != 2 {
		t.Errorf("servers say %d times that they wait, want once each", n)
	}
	if idle.began[0].Epoch != 1 {
		t.Errorf("workers have gone on with epoch %d, want 1", idle.began[0].Epoch)
	}
	asked := done.again()
	asked.waits = 2 * time.Hour
	asked.behind = func(f *fleet.Fleet) {
		b := f.Probed()
		time.AfterFunc(time.Hour, func() {
			asked.mu.Lock()
			asked.ends[roleName(f)](errTerminated)
			asked.mu.Unlock()
		})
		time.AfterFunc(time.Hour+10*time.Second, func() {
			asked.mu.Lock()
			defer asked.mu.Unlock()
			if status, _ := b.Answer("/readyz"); status == http.StatusOK || asked.ended[roleName(f)].IsZero() || f.Unsaved() != nil {
				t.Errorf("%v was asked to end: ready %d, ended at %v, unsaved %v", f, status, asked.ended[roleName(f)], f.Unsaved())
			}
		})
	}
	asked.run(t)
}
