package roster

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGrace: three heartbeats, or the timeout where that is shorter; hurrying makes it the timeout.
func TestGrace(t *testing.T) {
	h := cast("a").Hope
	m := &h.members[0]
	if !h.hears(m, at(2.9)) || h.hears(m, at(3)) {
		t.Error("a member is heard for three heartbeats")
	}
	if h.Hurried() {
		t.Error("it is hurried from the begin")
	}
	if h.Hurry(); h.timeout != 3*time.Second || !h.Hurried() {
		t.Errorf("hurried, the timeout is %v", h.timeout)
	}
	h.timeout = time.Second
	if h.grace() != time.Second {
		t.Errorf("grace is %v, longer than the timeout", h.grace())
	}
}

// TestDesertedJobs: workers that are expected back are given up when no other has been there for longer than Back.
func TestDesertedJobs(t *testing.T) {
	r := cast("xd")
	h := r.Hope
	if h.Desert(at(0)) || h.expects() || !h.Over() {
		t.Error("a dead worker that does not return is expected")
	}
	h.members[1].returns = true
	if !h.expects() || h.Over() {
		t.Error("a worker that returns is not expected")
	}
	for _, c := range []struct {
		at   float64
		want bool
	}{{10, false}, {310, false}, {310.1, true}} {
		if got := h.Desert(at(c.at)); got != c.want || h.Deserted() != c.want {
			t.Errorf("at %v s: %t, deserted %t", c.at, got, h.Deserted())
		}
	}
	if h.expects() || !h.Over() || h.Desert(at(1000)) {
		t.Error("workers that were given up are expected")
	}
}

// TestRestartTimeoutCountsAnewAfterAVisit: a deserted job that a worker joins and leaves waits the whole time again.
func TestRestartTimeoutCountsAnewAfterAVisit(t *testing.T) {
	h := cast("xd").Hope
	h.members[1].returns = true
	h.Desert(at(0))
	h.members[0].state = alive
	h.Desert(at(200))
	h.members[0].state = left
	if h.Desert(at(301)) || h.Desert(at(600)) || !h.Desert(at(602)) {
		t.Error("the time before a visit counts")
	}
}

// TestHurriedJobsExpectNoWorker: nor do jobs without a Back.
func TestHurriedJobsExpectNoWorker(t *testing.T) {
	h := cast("xd").Hope
	h.members[1].returns = true
	if h.Hurry(); h.expects() {
		t.Error("hurried, it expects a worker")
	}
	h.hurried, h.o.Back = false, 0
	if h.expects() {
		t.Error("without Back it expects a worker")
	}
	h.o.Back = 1
	if h.members[1].state = alive; h.expects() {
		t.Error("it expects a worker that lives")
	}
}

// TestHopeless: a server's wait ends when a worker has not joined in time, or all are silent for two timeouts.
func TestHopeless(t *testing.T) {
	for _, c := range []struct {
		members string
		server  int
		change  func(h *Hope)
		now     float64
		want    string
	}{
		{"a-", 0, nil, 60, "ok"},
		{"a-", 0, nil, 60.1, "missing"},
		{"aa", 0, func(h *Hope) { h.members[1].awaited = true }, 60.1, "missing"},
		{"aa", 1, nil, 20, "ok"},
		{"aa", 1, nil, 20.1, "failed"},
		{"aa", 0, nil, 20.1, "ok"},
		{"aa", 1, func(h *Hope) { h.members[1].seen = at(5) }, 25, "ok"},
		{"aa", 1, func(h *Hope) { h.members[1].seen = at(5) }, 25.1, "failed"},
		{"a-", 1, nil, 59, "ok"},
		{"xd", 1, func(h *Hope) { h.members[1].returns = true }, 100, "ok"},
		{"xd", 1, nil, 100, "failed"},
	} {
		h := cast(c.members).Hope
		if h.o.Server = c.server; c.change != nil {
			c.change(h)
		}
		if got := said("ok", h.Hopeless(at(0), at(c.now))); got != c.want {
			t.Errorf("%s on server %d at %v s: %v, want %v", c.members, c.server, c.now, got, c.want)
		}
	}
}

// TestMissing: a server says whom it waits for after 15 s, and then each time the wait has doubled, until all are there.
func TestMissing(t *testing.T) {
	h := cast("a--").Hope
	var said []float64
	for now := 0.0; now < 100; now++ {
		if who := h.Missing(at(0), at(now)); who != "" {
			said = append(said, now)
			if who != "worker 1 (has not joined), worker 2 (has not joined)" {
				t.Errorf("at %v: %s", now, who)
			}
		}
	}
	if !slices.Equal(said, []float64{15, 30, 60}) {
		t.Errorf("said at %v", said)
	}
	h.members[1], h.members[2] = member{state: alive}, member{state: alive}
	if who := h.Missing(at(0), at(120)); who != "" {
		t.Errorf("all are there, and missing is %s", who)
	}
	many := cast("-----------").Hope
	if who := many.Missing(at(0), at(20)); !strings.HasSuffix(who, "worker 3 (has not joined), 7 more") {
		t.Error(who)
	}
	stays := cast("--").Hope
	stays.Stay()
	if who := stays.Missing(at(0), at(100)); who != "" {
		t.Errorf("a server that waits for the first worker as long as it takes says %s", who)
	}
}

// TestServersWaitForTheFirstWorker: servers that stay wait for the first worker as long as it takes, and for the others from then on.
func TestServersWaitForTheFirstWorker(t *testing.T) {
	h := cast("--").Hope
	h.Stay()
	if err := h.Hopeless(at(0), at(1000)); err != nil {
		t.Errorf("no worker has joined: %v", err)
	}
	h.members[0] = member{state: alive, seen: at(1000)}
	for _, now := range []float64{1000, 1060} {
		if err := h.Hopeless(at(0), at(now)); err != nil {
			t.Errorf("at %v: %v", now, err)
		}
	}
	if h.Hopeless(at(0), at(1060.1)) == nil {
		t.Error("it waits for the second worker for longer than a start takes")
	}
}
