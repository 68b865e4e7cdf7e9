package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/observe"
)

// TestWatch: a job is what its processes say, the last of each; one that does not answer is silent, one at whose address nobody listens is away,
// and one that has left, as server 0 says, has ended. An address that has never answered is named with the reason.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // roles began an hour ago
		began := time.Now().Add(-time.Hour)
		process := func(kind string, index int) observe.Status {
			r := observe.Role{Kind: kind, Index: index, Began: began, Runs: true, Stats: new(stats.Process)}
			return observe.Status{Now: time.Now(), Program: "train", Roles: []observe.Role{r}}
		}
		closed := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		said := map[string]observe.Status{}
		failed := map[string]error{"d:1": errors.New("no token")}
		addrs := []string{"a:1", "b:1", "c:1", "d:1"}
		w := &Watch{Find: func(context.Context) []string { return addrs }, Ask: func(_ context.Context, addr string) (observe.Status, error) {
			s := said[addr]
			s.Now = time.Now()
			return s, failed[addr]
		}}
		look := func() (all string) {
			j := w.Look(t.Context())
			for _, r := range j.Roles {
				all += fmt.Sprintf("%v %s, ", &r, r.State)
			}
			for _, w := range j.Warnings {
				all += w.Role + ": " + w.Text
			}
			return all
		}
		starts := process("worker", 1)
		starts.Roles[0].Runs = false
		said["a:1"], said["b:1"], said["c:1"] = process("server", 0), process("worker", 0), starts
		said["b:1"].Roles[0].Warnings = []observe.Warning{{Text: "WARN low", At: began}}
		said["c:1"].Roles[0].Stats.Counts.Steps = 7
		server := said["a:1"].Roles[0].Stats
		if j := w.Look(t.Context()); !j.Roles[0].Since.Equal(began) {
			t.Errorf("a role that ran before the first look runs since %v", j.Roles[0].Since)
		}
		for _, c := range []struct {
			change func()
			want   string
		}{
			{func() {}, "server 0 runs, worker 0 runs, worker 1 starts, worker 0: WARN lowd:1: no token"},
			{func() { failed["b:1"], failed["c:1"], addrs = context.DeadlineExceeded, closed, addrs[:3] }, "server 0 runs, worker 0 silent, worker 1 away, worker 0: WARN low"},
			{func() { delete(failed, "b:1"); failed["c:1"] = nil; said["c:1"] = process("worker", 1) }, "server 0 runs, worker 0 runs, worker 1 runs, worker 0: WARN low"},
			{func() {
				failed["b:1"], addrs = closed, addrs[:2]
				server.Server.Members = []stats.Member{{Worker: 0, State: "left"}, {Worker: 1, State: "dead"}}
			}, "server 0 runs, worker 0 ended, worker 1 away, worker 0: WARN low"},
			{func() { failed["a:1"] = closed }, "server 0 away, worker 0 ended, worker 1 away, worker 0: WARN low"},
		} {
			time.Sleep(time.Second)
			if c.change(); look() != c.want {
				t.Errorf("%q, want %q", look(), c.want)
			}
		}
		j := w.Look(t.Context())
		if j.Name != "train" || !j.Began.Equal(began) || j.Roles[2].Since.Before(began.Add(time.Hour)) || j.Roles[1].Metrics != "b:1" {
			t.Errorf("%+v", j)
		}
		if is := viewOf(nil, &j).State; is != "ended" {
			t.Errorf("the job is %s", is)
		}
	})
}

// TestWatchOfOnesOwn: roles of one's own processes are asked until they have ended; what one said before it was started again does not count.
func TestWatchOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := new(Watch)
		set := func(index int, is State) {
			w.Change("worker", index, func(r *Role) { r.State, r.Since, r.Metrics = is, time.Now(), fmt.Sprint("w", index) })
		}
		again := false
		w.Ask = func(_ context.Context, addr string) (s observe.Status, err error) {
			if asked = append(asked, addr); addr == "w1" {
				return s, errors.New("nothing")
			}
			if time.Sleep(time.Millisecond); again {
				set(0, Starts)
			}
			time.Sleep(time.Millisecond)
			return observe.Status{Now: time.Now(), Roles: []observe.Role{{Kind: "worker", Runs: true, Stats: new(stats.Process), Training: &observe.Training{Epochs: 3}}}}, nil
		}
		set(0, Starts)
		set(1, Starts)
		set(2, Failed)
		states := func() (all string) {
			time.Sleep(time.Second)
			asked = nil
			for _, r := range w.Look(t.Context()).Roles {
				all += fmt.Sprint(r.State, " ")
			}
			return all
		}
		if got := states(); got != "runs starts failed " || len(asked) != 2 || strings.Contains(fmt.Sprint(asked), "w2") {
			t.Errorf("%s, asked %v", got, asked)
		}
		if v := viewOf(nil, new(w.Look(t.Context()))); v.Training == nil || v.Training.Epochs != 3 {
			t.Errorf("training %+v", v.Training)
		}
		set(1, Runs)
		if got := states(); got != "runs silent failed " {
			t.Error(got)
		}
		again = true
		if got := states(); got != "starts silent failed " {
			t.Error(got)
		}
	})
}
