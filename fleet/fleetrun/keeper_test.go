package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// newTestKeeper watches servers and workers of which one more worker may run elsewhere, and writes down what it says.
func newTestKeeper(servers, workers int, r restarts, whole bool) (*keeper, *strings.Builder) {
	j := &job{here: append(ranks(server, servers), ranks(worker, workers)...), workers: make([]endpoint, workers)}
	if !whole {
		j.workers = append(j.workers, endpoint{})
	}
	var said strings.Builder
	k := newKeeper(j, 10*time.Second, r, func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) })
	began := time.Now()
	k.now = func() time.Time { return began }
	k.attempt = 0
	k.reset()
	return k, &said
}

// step plays one event: "w0=3" (worker 0 exits with 3), "s1" (server 1 exits with 0), "INT", "TERM" or "time"; "+2s" lets time go by, and
// "w0+" is the end of a pause of worker 0's own.
func step(k *keeper, event string) order {
	if d, err := time.ParseDuration(event); err == nil {
		now := k.now().Add(d)
		k.now = func() time.Time { return now }
		return order{}
	}
	switch event {
	case "INT":
		return k.signalled(syscall.SIGINT)
	case "TERM":
		return k.signalled(syscall.SIGTERM)
	case "time":
		return k.expired()
	}
	who, code := role{kind: worker}, 0
	if event[0] == 's' {
		who.kind = server
	}
	fmt.Sscanf(event[1:], "%d=%d", &who.rank, &code)
	if strings.HasSuffix(event, "+") {
		return k.rested(who)
	}
	return k.exited(exit{role: who, code: code, how: fmt.Sprintf("exit code %d", code)})
}

// orderText names an order as the scripts below do.
func orderText(o order) string {
	text := [...]string{carryOn: "-", terminate: "terminate", kill: "kill", start: "start", startAgain: "start", later: "later"}[o.stop]
	if o.stop == startAgain || o.stop == later {
		text += fmt.Sprintf("(%s%d)", o.role.kind[:1], o.role.rank)
	}
	if o.wait > 0 {
		text += fmt.Sprint("/", o.wait)
	}
	return text
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	none := restarts{}
	tests := []struct {
		name             string
		servers, workers int
		elsewhere        bool   // a worker runs on another machine
		script           string // event:order…
		code             int
		said             string // in this order, among others
		restarts         restarts
	}{
		{"all well", 2, 2, false, "w1:- w0:-/10s s1:- s0:-", 0, "all workers exit", none},
		{"servers first", 2, 1, false, "s1:-/3s s0:-/3s w0:-/10s", 0, "all workers exit", none},
		{"servers first, workers late", 1, 1, false, "s0:-/3s time:- w0:-/10s", 0, "server 0 ended with exit code 0 while still running: worker 0", none},
		{"servers stay", 2, 1, false, "w0:-/10s s0:- time:terminate/10s s1=15:-", 0, "still running after 10s: server 1. Terminating", none},
		{"servers stay for ever", 1, 1, false, "w0:-/10s time:terminate/10s time:kill s0=137:-", 0, "Terminating|still running after 10s: server 0. Killing", none},
		{"a server fails late", 2, 1, false, "w0:-/10s s1=7:terminate/10s s0:-", 7, "server 1 failed: exit code 7. Ending the others: server 0", none},
		{"the last server fails", 1, 1, false, "w0:-/10s s0=7:-", 7, "server 0 failed: exit code 7\n", none},
		{"a worker fails", 1, 3, false, "w1=3:terminate/10s w0=1:- s0=143:- w2:-", 3, "worker 1 failed: exit code 3. Ending the others: server 0, worker 0, worker 2", none},
		{"the last worker fails", 0, 1, true, "w0=3:-", 3, "worker 0 failed", none},
		{"a server fails", 2, 2, false, "s0=4:terminate/10s time:kill s1=137:- w0=137:- w1=137:-", 4, "still running after 10s: server 1, worker 0, worker 1. Killing", none},
		{"interrupt", 1, 1, false, "INT:terminate/10s w0:- s0=2:-", 130, "interrupt: ending server 0, worker 0. Once more kills them", none},
		{"terminated", 1, 1, false, "TERM:terminate/10s w0=143:- s0:-", 143, "terminated: ending", none},
		{"interrupt, then impatience", 1, 1, false, "INT:terminate/10s TERM:kill w0=137:- s0=137:-", 130, "terminated: killing server 0, worker 0", none},
		{"interrupt, then time", 1, 1, false, "INT:terminate/10s w0:- time:kill s0=137:-", 130, "Killing", none},
		{"impatience after a failure", 1, 1, false, "w0=3:terminate/10s INT:kill s0=137:-", 3, "interrupt: killing server 0", none},
		{"interrupt while finishing", 1, 1, false, "w0:-/10s INT:terminate/10s s0=143:-", 130, "interrupt: ending server 0", none},
		{"workers elsewhere", 2, 1, true, "w0:- s0:- s1:-", 0, "Servers go on until the workers elsewhere have stopped", none},
		{"workers elsewhere, a server was early", 2, 1, true, "s0:-/3s w0:- time:- s1:-", 0, "Servers go on", none},
		{"workers elsewhere, a server fails", 2, 1, true, "w0:- s0=9:terminate/10s s1:-", 9, "server 0 failed", none},
		{"servers only", 2, 0, true, "s0:- s1:-", 0, "", none},
		{"servers only, one fails", 2, 0, true, "s0=5:terminate/10s s1:-", 5, "server 0 failed", none},
		{"a worker fails once", 1, 2, false, "w1=3:terminate/10s w0=1:- s0:-/1s time:start w0:- w1:-/10s s0:-", 0,
			"worker 1 failed: exit code 3. Ending the others: server 0, worker 0|all roles are started again in 1s, attempt 2 of 4|attempt 2 of 4 begins|all workers exit", restarts{all: 3}},
		{"a server goes back", 1, 1, false, "s0=75:terminate/10s w0=75:-/1s time:start w0:-/10s s0:-", 0, "server 0 failed: exit code 75", restarts{all: 1}},
		{"pauses grow", 0, 1, true, "w0=3:-/1s time:start w0=3:-/2s time:start w0=3:-/4s time:start w0=9:-", 9, "attempt 4 of 4 begins|worker 0 failed: exit code 9", restarts{all: 3}},
		{"pauses fall after a long attempt", 0, 1, true, "w0=3:-/1s time:start +59s:- w0=3:-/2s time:start +60s:- w0=3:-/1s time:start w0=9:-", 9, "", restarts{all: 3}},
		{"usage", 1, 1, false, "w0=2:terminate/10s s0:-", 2, "worker 0 failed", restarts{all: 3}},
		{"who fails second has a say no more", 1, 1, false, "w0=2:terminate/10s s0=7:-", 2, "worker 0 failed", restarts{all: 3}},
		{"killed when asked", 1, 1, false, "w0=3:terminate/10s time:kill s0=137:-/1s time:start w0:-/10s s0:-", 0, "Killing|again in 1s", restarts{all: 1}},
		{"a server fails when all is done", 1, 1, false, "w0:-/10s s0=7:-/1s time:start w0:-/10s s0:-", 0, "server 0 failed: exit code 7", restarts{all: 1}},
		{"interrupt is no failure", 1, 1, false, "INT:terminate/10s w0=1:- s0=1:-", 130, "interrupt: ending", restarts{all: 3}},
		{"interrupt after a failure", 1, 1, false, "w0=3:terminate/10s INT:kill s0=137:-", 3, "interrupt: killing server 0", restarts{all: 3}},
		{"interrupt in the pause", 1, 1, false, "w0=3:terminate/10s s0:-/1s INT:-", 130, "interrupt: the job is not started again", restarts{all: 3}},
		{"terminated in the pause", 0, 1, true, "w0=3:-/1s TERM:-", 143, "terminated: the job is not started again", restarts{all: 3}},
		{"a server comes back", 2, 1, false, "s1=137:start(s1) s1=137:later(s1)/1s +1s:- s1+:start(s1) w0:-/10s s0:- s1:-", 0, "server 1 failed: exit code 137. It is started again alone, as servers may be 1 times more", restarts{servers: 2}},
		{"a server comes back too often", 2, 1, false, "s1=137:start(s1) s1=137:terminate/10s w0:- s0:-", 137, "as servers may be 0 times more|server 1 failed: exit code 137. Ending the others", restarts{servers: 1}},
		{"a server that went back does not come back", 1, 1, false, "s0=75:terminate/10s w0=75:-/1s time:start w0:-/10s s0:-", 0, "all roles are started again", restarts{all: 1, servers: 5}},
		{"a server has nobody to come back to", 2, 1, false, "w0:-/10s s1=137:terminate/10s s0:-", 137, "server 1 failed", restarts{servers: 5}},
		{"a worker does not come back alone", 1, 1, false, "w0=137:terminate/10s s0:-", 137, "worker 0 failed", restarts{servers: 5}},
		{"a worker comes back", 1, 2, false, "w1=137:start(w1) w0:- w1=1:later(w1)/1s +1s:- w1+:start(w1) w1:-/10s s0:-", 0,
			"worker 1 failed: exit code 137. It is started again alone, as workers may be 1 times more|may be 0 times more", restarts{workers: 2}},
		{"a worker comes back too often", 1, 2, false, "w1=137:start(w1) w0=137:terminate/10s w1:- s0:-/1s time:start w1:- w0:-/10s s0:-", 0,
			"as workers may be 0 times more|worker 0 failed: exit code 137. Ending the others|all roles are started again", restarts{all: 1, workers: 1}},
		{"a worker that may not come back", 1, 2, false, "w1=137:start(w1) w1=75:terminate/10s w0:- s0:-/1s time:start w1:- w0:-/10s s0:-", 0,
			"as workers may be 4 times more|worker 1 failed: exit code 75. Ending the others|all roles are started again", restarts{all: 1, workers: 5}},
		{"a worker of a wrong command line", 1, 1, false, "w0=2:terminate/10s s0:-", 2, "worker 0 failed", restarts{workers: 5}},
		{"a worker has nobody to come back to", 1, 2, false, "w0:- s0:-/3s w1=1:-", 1, "worker 1 failed: exit code 1\n", restarts{workers: 5}},
		{"pauses of one grow", 1, 1, false, "w0=1:start(w0) w0=1:later(w0)/1s +1s:- w0+:start(w0) w0=1:later(w0)/2s +2s:- w0+:start(w0) +9s:- w0=1:later(w0)/4s +4s:- w0+:start(w0) " +
			"w0=1:later(w0)/8s +8s:- w0+:start(w0) w0=1:later(w0)/16s +16s:- w0+:start(w0) w0=1:later(w0)/30s +30s:- w0+:start(w0) w0=1:later(w0)/30s +30s:- w0+:start(w0) w0:-/10s s0:-", 0,
			"worker 0 failed: exit code 1. It is started again alone, as workers may be 98 times more|It is started again alone in 1s, as workers may be 97 times more|alone in 30s", restarts{workers: 99}},
		{"a long life", 1, 1, false, "s0=1:start(s0) s0=1:later(s0)/1s +1s:- s0+:start(s0) +60s:- s0=1:start(s0) +59s:- s0=1:later(s0)/1s +1s:- s0+:start(s0) w0:-/10s s0:-", 0, "", restarts{servers: 99}},
		{"pauses of several", 2, 1, false, "s0=1:start(s0) s1=1:start(s1) s1=1:later(s1)/1s +500ms:- s0=1:later(s0)/1s +500ms:- s0+:- s1+:start(s1) s1+:- +500ms:- s0+:start(s0) w0:-/10s s0:- s1:-", 0, "", restarts{servers: 99}},
		{"others end in a pause", 1, 2, false, "w1=1:start(w1) w1=1:later(w1)/1s w0=3:start(w0) w0:- +1s:- w1+:start(w1) w1:-/10s s0:-", 0, "", restarts{workers: 99}},
		{"a pause ends with the job", 1, 2, false, "w1=1:start(w1) w1=1:later(w1)/1s s0=5:terminate/10s w0:-/1s w1+:- time:start w1=1:start(w1) w1:- w0:-/10s s0:-", 0,
			"server 0 failed: exit code 5. Ending the others: worker 0\n|attempt 2 of 2 begins", restarts{all: 1, workers: 99}},
		{"interrupt in a pause of one", 1, 1, false, "w0=1:start(w0) w0=1:later(w0)/1s INT:terminate/10s w0+:- s0=143:-", 130, "interrupt: ending server 0. Once more", restarts{workers: 99}},
		{"interrupt in a pause of all there are", 0, 1, true, "w0=1:start(w0) w0=1:later(w0)/1s INT:terminate/10s", 130, "", restarts{workers: 99}},
		{"servers leave while a worker pauses", 1, 2, false, "w1=4:start(w1) w1=4:later(w1)/1s w0:- s0:-", 4, "worker 1 failed: exit code 4\n", restarts{workers: 99}},
		{"workers leave while a server pauses", 2, 1, false, "s1=4:start(s1) s1=4:later(s1)/1s w0:terminate/10s s0:-", 4, "server 1 failed: exit code 4. Ending the others: server 0\n", restarts{servers: 99}},
		{"a server does not come back with the workers", 1, 1, false, "s0=137:terminate/10s w0:-", 137, "server 0 failed", restarts{workers: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, said := newTestKeeper(tt.servers, tt.workers, tt.restarts, !tt.elsewhere)
			for event := range strings.FieldsSeq(tt.script) {
				what, want, _ := strings.Cut(event, ":")
				if k.done() {
					t.Fatalf("done before %s", what)
				}
				if got := orderText(step(k, what)); got != want {
					t.Fatalf("%s: order %s, want %s\n%s", what, got, want, said)
				}
			}
			if !k.done() || k.code != tt.code {
				t.Errorf("done %v, code %d, want %d", k.done(), k.code, tt.code)
			}
			rest := said.String()
			for want := range strings.SplitSeq(tt.said, "|") {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("%q is missing or too early in:\n%s", want, said)
				}
				rest = after
			}
		})
	}
}

// Whatever happens, the first failure or signal of an attempt fixes the code, no order but a kill follows the request to end, and roles are
// started again only where all have ended, as often as they may be, or alone where the job goes on.
func TestKeeperNeverChangesItsMind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		servers, workers := rapid.IntRange(0, 3).Draw(t, "servers"), rapid.IntRange(1, 3).Draw(t, "workers")
		again, alone := rapid.IntRange(0, 2).Draw(t, "restarts"), rapid.IntRange(0, 9).Draw(t, "alone")
		k, _ := newTestKeeper(servers, workers, restarts{all: again, servers: alone, workers: alone}, rapid.Bool().Draw(t, "whole"))
		code, asked, started := 0, false, 0
		for !k.done() {
			alive := []string{"INT", "TERM", "time", "+700ms"}
			for _, r := range append(ranks(server, servers), ranks(worker, workers)...) {
				if _, paused := k.paused[r]; paused {
					alive = append(alive, fmt.Sprintf("%c%d+", r.kind[0], r.rank))
				} else if k.alive[r] {
					alive = append(alive, fmt.Sprintf("%c%d=%d", r.kind[0], r.rank, rapid.IntRange(0, 3).Draw(t, "code")))
				}
			}
			ended := len(alive) == 4
			event := alive[rapid.IntRange(0, len(alive)-1).Draw(t, "event")]
			o := step(k, event)
			if (o.stop == startAgain || o.stop == later) && (code != 0 || !k.alive[o.role]) {
				t.Fatalf("%s: %s, after code %d", event, orderText(o), code)
			}
			if o.stop == start {
				if started++; !ended || event != "time" || started > again || code == 0 {
					t.Fatalf("%s: start %d of %d, all had ended: %t, after code %d", event, started, again, ended, code)
				}
				code, asked = 0, false
			}
			if asked && o.stop == terminate {
				t.Fatalf("%s: asked to end twice", event)
			}
			asked = asked || o.stop == terminate
			if o.stop == terminate && o.wait == 0 {
				t.Fatalf("%s: asked to end with no limit", event)
			}
			if stopped := ended && (event == "INT" || event == "TERM"); code != 0 && k.code != code && !stopped {
				t.Fatalf("%s: code %d became %d", event, code, k.code)
			}
			code = k.code
		}
	})
}

func TestListIsShort(t *testing.T) {
	t.Parallel()
	if got := list(ranks(worker, 3)); got != "worker 0, worker 1, worker 2" {
		t.Error(got)
	}
	if got := list(ranks(worker, 100)); got != "worker 0, worker 1, worker 2, worker 3, and 96 more" {
		t.Error(got)
	}
}
