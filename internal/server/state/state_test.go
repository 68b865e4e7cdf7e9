package state

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// newJob is the state of server 0 of a job of two workers that nobody has joined.
func newJob(t *testing.T, log *bytes.Buffer, change func(*Options)) *Job {
	t.Helper()
	_, end := context.WithCancel(t.Context())
	o := Options{
		Servers: 1,
		Roster:  roster.Options{Workers: 2, Mode: "sync", Lockstep: true, Timeout: time.Minute, Start: time.Minute, Heartbeat: time.Second},
		Mode:    mode.Of(strategy.ModeSync).NewServer(2, 0),
		Clock:   awake.NewClock(15*time.Second, time.Now),
		Wait:    time.Minute,
		Longest: time.Hour,
		Log:     slog.New(slog.NewTextHandler(log, nil)),
		End:     end,
	}
	if change != nil {
		change(&o)
	}
	st := New(o)
	st.Failed = func() {}
	return st
}

// moment is shorter than a long wait.
const moment = longWait / 2

func why() string { return "for the test" }

// TestEachWaitEnds: by what it waits for, the job's failure, the server's closing, or the time; a poll's time is no failure.
func TestEachWaitEnds(t *testing.T) {
	broken := errors.New("it broke")
	for name, c := range map[string]struct {
		change func(*Options)
		poll   bool
		then   func(st *Job, ready *bool) // a moment later
		says   string
		after  time.Duration
	}{
		"ready":                 {then: func(st *Job, ready *bool) { *ready = true; st.Broadcast() }, after: moment},
		"nobody says that":      {then: func(_ *Job, ready *bool) { *ready = true }, after: longWait},
		"failure":               {then: func(st *Job, _ *bool) { st.Fail(broken) }, says: "it broke", after: moment},
		"closing":               {then: func(st *Job, _ *bool) { st.Close() }, says: "server 0 has shut down while it waited for the test", after: moment},
		"closing, and coming":   {change: func(o *Options) { o.Returns = true }, then: func(st *Job, _ *bool) { st.Close() }, says: "has shut down", after: moment},
		"time":                  {says: "server 0 waited 1m0s for the test", after: time.Minute},
		"ready as it closes":    {then: func(st *Job, ready *bool) { *ready = true; st.Close() }, after: moment},
		"a poll's time":         {poll: true, after: time.Minute},
		"a poll, ready":         {poll: true, then: func(st *Job, ready *bool) { *ready = true; st.Broadcast() }, after: moment},
		"a poll, and a failure": {poll: true, then: func(st *Job, _ *bool) { st.Fail(broken) }, says: "it broke", after: moment},
		"a poll, and closing":   {poll: true, then: func(st *Job, _ *bool) { st.Close() }, says: "has shut down", after: moment},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, ready := newJob(t, new(bytes.Buffer), c.change), false
				time.AfterFunc(moment, func() {
					st.Lock()
					defer st.Unlock()
					if c.then != nil {
						c.then(st, &ready)
					}
				})
				began := time.Now()
				st.Lock()
				defer st.Unlock()
				is := func() bool { return ready }
				var err error
				if c.poll {
					err = st.Poll(time.Minute, is)
				} else {
					err = st.Await(is, why)
				}
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("the wait ends with %v, want %q", err, c.says)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("it ends after %v, want %v", took, c.after)
				}
				if name == "closing, and coming" && !errors.Is(err, wire.ErrNotReady) {
					t.Errorf("%v: a server that comes back asks who waits to wait on", err)
				}
				if len(st.Waits) != 0 {
					t.Errorf("%d waits are left", len(st.Waits))
				}
			})
		})
	}
}

// TestALongWaitIsSeen: a wait of over a second says for whom and since when, and is forgotten when it ends; a failure is in the log once.
func TestALongWaitIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		st, ready := newJob(t, &log, nil), false
		over := make(chan error)
		began := time.Now()
		go func() {
			st.Lock()
			defer st.Unlock()
			over <- st.AwaitWorkers(func() []int { return []int{1} }, func() bool { return ready }, why)
		}()
		time.Sleep(longWait - time.Millisecond)
		st.Lock()
		if len(st.Waits) != 0 {
			t.Errorf("a short wait is seen: %+v", st.Waits)
		}
		st.Unlock()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		st.Lock()
		if len(st.Waits) != 1 || st.Waits[0].Why != why() || st.Waits[0].Workers[0] != 1 || st.Waits[0].Since != began {
			t.Errorf("a long wait is seen as %+v", st.Waits)
		}
		if text, computes := st.Oldest(); text != why() || computes {
			t.Errorf("the oldest waits %q, for who computes: %t", text, computes)
		}
		ready = true
		st.Broadcast()
		st.Unlock()
		if err := <-over; err != nil {
			t.Error(err)
		}
		st.Lock()
		defer st.Unlock()
		if len(st.Waits) != 0 {
			t.Errorf("%+v are left", st.Waits)
		}
		st.Fail(errors.New("first"))
		st.Fail(errors.New("second"))
		if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "first") {
			t.Errorf("the log is %q", said)
		}
	})
}

// TestAPushWaitsForItsTurn: until the weights are there, and while a death is decided; and each error says for whom.
func TestAPushWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newJob(t, new(bytes.Buffer), nil)
		f := &wire.Frame{Header: wire.Header{Op: wire.OpStep, Worker: 0, Life: 1, Seq: 1}}
		st.Lock()
		defer st.Unlock()
		if err := st.Sender(f); err == nil {
			t.Error("a worker that has not joined is let in")
		}
		if err := st.AwaitTurn(f); err == nil || !strings.Contains(err.Error(), "for worker 0 to publish the initial weights") {
			t.Errorf("before there are weights: %v", err)
		}
		st.Published, f.Round = true, 1
		if err := st.AwaitTurn(f); err == nil || !strings.Contains(err.Error(), "for round 0.1 (round 0.0 is open)") || !strings.Contains(err.Error(), "missing worker 0") {
			t.Errorf("a round too early: %v", err)
		}
		if st.Leads() || st.Done() {
			t.Error("a cut is under way, or the job is over")
		}
	})
}
