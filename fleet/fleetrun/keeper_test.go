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
func newTestKeeper(servers, workers int, whole bool) (*keeper, *strings.Builder) {
	j := &job{here: append(ranks(server, servers), ranks(worker, workers)...), workers: make([]endpoint, workers)}
	if !whole {
		j.workers = append(j.workers, endpoint{})
	}
	var said strings.Builder
	return newKeeper(j, 10*time.Second, func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }), &said
}

// step plays one event: "w0=3" (worker 0 exits with 3), "s1" (server 1 exits with 0), "INT", "TERM" or "time".
func step(k *keeper, event string) order {
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
	return k.exited(exit{who, code, fmt.Sprintf("exit code %d", code)})
}

// orderText names an order as the scripts below do.
func orderText(o order) string {
	text := [...]string{carryOn: "-", terminate: "terminate", kill: "kill"}[o.stop]
	if o.wait > 0 {
		text += fmt.Sprint("/", o.wait)
	}
	return text
}

func TestKeeper(t *testing.T) {
	tests := []struct {
		name             string
		servers, workers int
		elsewhere        bool   // a worker runs on another machine
		script           string // event:order…
		code             int
		said             string // in this order, among others
	}{
		{"all well", 2, 2, false, "w1:- w0:-/10s s1:- s0:-", 0, "all workers exit"},
		{"servers first", 2, 1, false, "s1:-/3s s0:-/3s w0:-/10s", 0, "all workers exit"},
		{"servers first, workers late", 1, 1, false, "s0:-/3s time:- w0:-/10s", 0, "server 0 ended with exit code 0 while still running: worker 0"},
		{"servers stay", 2, 1, false, "w0:-/10s s0:- time:terminate/10s s1=15:-", 0, "still running after 10s: server 1. Terminating"},
		{"servers stay for ever", 1, 1, false, "w0:-/10s time:terminate/10s time:kill s0=137:-", 0, "Terminating|still running after 10s: server 0. Killing"},
		{"a server fails late", 2, 1, false, "w0:-/10s s1=7:terminate/10s s0:-", 7, "server 1 failed: exit code 7. Ending the others: server 0"},
		{"the last server fails", 1, 1, false, "w0:-/10s s0=7:-", 7, "server 0 failed: exit code 7\n"},
		{"a worker fails", 1, 3, false, "w1=3:terminate/10s w0=1:- s0=143:- w2:-", 3, "worker 1 failed: exit code 3. Ending the others: server 0, worker 0, worker 2"},
		{"the last worker fails", 0, 1, true, "w0=3:-", 3, "worker 0 failed"},
		{"a server fails", 2, 2, false, "s0=4:terminate/10s time:kill s1=137:- w0=137:- w1=137:-", 4, "still running after 10s: server 1, worker 0, worker 1. Killing"},
		{"interrupt", 1, 1, false, "INT:terminate/10s w0:- s0=2:-", 130, "interrupt: ending server 0, worker 0. Once more kills them"},
		{"terminated", 1, 1, false, "TERM:terminate/10s w0=143:- s0:-", 143, "terminated: ending"},
		{"interrupt, then impatience", 1, 1, false, "INT:terminate/10s TERM:kill w0=137:- s0=137:-", 130, "terminated: killing server 0, worker 0"},
		{"interrupt, then time", 1, 1, false, "INT:terminate/10s w0:- time:kill s0=137:-", 130, "Killing"},
		{"impatience after a failure", 1, 1, false, "w0=3:terminate/10s INT:kill s0=137:-", 3, "interrupt: killing server 0"},
		{"interrupt while finishing", 1, 1, false, "w0:-/10s INT:terminate/10s s0=143:-", 130, "interrupt: ending server 0"},
		{"workers elsewhere", 2, 1, true, "w0:- s0:- s1:-", 0, "Servers go on until the workers elsewhere have stopped"},
		{"workers elsewhere, a server was early", 2, 1, true, "s0:-/3s w0:- time:- s1:-", 0, "Servers go on"},
		{"workers elsewhere, a server fails", 2, 1, true, "w0:- s0=9:terminate/10s s1:-", 9, "server 0 failed"},
		{"servers only", 2, 0, true, "s0:- s1:-", 0, ""},
		{"servers only, one fails", 2, 0, true, "s0=5:terminate/10s s1:-", 5, "server 0 failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, said := newTestKeeper(tt.servers, tt.workers, !tt.elsewhere)
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

// Whatever happens, the first failure or signal fixes the code, and no order but a kill follows the request to end.
func TestKeeperNeverChangesItsMind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers, workers := rapid.IntRange(0, 3).Draw(t, "servers"), rapid.IntRange(1, 3).Draw(t, "workers")
		k, _ := newTestKeeper(servers, workers, rapid.Bool().Draw(t, "whole"))
		code, asked := 0, false
		for !k.done() {
			alive := []string{"INT", "TERM", "time"}
			for _, r := range append(ranks(server, servers), ranks(worker, workers)...) {
				if k.alive[r] {
					alive = append(alive, fmt.Sprintf("%c%d=%d", r.kind[0], r.rank, rapid.IntRange(0, 2).Draw(t, "code")))
				}
			}
			event := alive[rapid.IntRange(0, len(alive)-1).Draw(t, "event")]
			o := step(k, event)
			if asked && o.stop == terminate {
				t.Fatalf("%s: asked to end twice", event)
			}
			asked = asked || o.stop == terminate
			if o.stop == terminate && o.wait == 0 {
				t.Fatalf("%s: asked to end with no limit", event)
			}
			if code != 0 && k.code != code {
				t.Fatalf("%s: code %d became %d", event, code, k.code)
			}
			code = k.code
		}
	})
}

func TestListIsShort(t *testing.T) {
	if got := list(ranks(worker, 3)); got != "worker 0, worker 1, worker 2" {
		t.Error(got)
	}
	if got := list(ranks(worker, 100)); got != "worker 0, worker 1, worker 2, worker 3, and 96 more" {
		t.Error(got)
	}
}
