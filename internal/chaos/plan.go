package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// level is what a job has that survives its processes.
type level struct {
	name string
	// recovery is the strategy's, given a directory of the run's own.
	recovery func(dir string) strategy.Recovery
	saves    bool // there are checkpoints
	keeps    bool // what was acknowledged outlives servers
}

// levels are all there are.
var levels = []level{
	{name: "none", recovery: func(string) (r strategy.Recovery) { return r }},
	{name: "checkpoints", saves: true, recovery: func(dir string) strategy.Recovery {
		return strategy.Recovery{Dir: dir + "/checkpoints", Every: strategy.Duration(700 * time.Millisecond), Keep: 5}
	}},
}

func names(all []level) (out []string) {
	for _, l := range all {
		out = append(out, l.name)
	}
	return out
}

// deed is what is done to a process.
type deed string

const (
	kill  deed = "kill -9"
	term  deed = "SIGTERM"
	pause deed = "SIGSTOP"
)

// event is a deed.
type event struct {
	do    deed
	whom  string        // "server 1", "worker 0" or "fleetrun"
	after int64         // steps that workers have made in all; 0 means as soon as it has processes
	late  time.Duration // so long after that
	stops time.Duration // until SIGCONT
}

func (e event) String() string {
	text := fmt.Sprintf("%s %s", e.do, e.whom)
	if e.do == pause {
		text += fmt.Sprintf(" for %.1fs", e.stops.Seconds())
	}
	return fmt.Sprintf("%s at step %d + %dms", text, e.after, e.late.Milliseconds())
}

// plan is what a run is to be.
type plan struct {
	seed     uint64
	mode     strategy.Mode
	level    level
	flights  bool // the job trains wide & deep
	restarts int  // that fleetrun has
	events   []event
}

// replay is the command that plays it again.
func (p plan) replay() string {
	return fmt.Sprintf("go run ./internal/chaos -runs=1 -seed=%d -mode=%s -level=%s -v", p.seed, p.mode, p.level.name)
}

func (p plan) deeds() string {
	var all []string
	for _, e := range p.events {
		all = append(all, e.String())
	}
	if p.restarts == 0 {
		all = append(all, "nothing restarts")
	}
	return strings.Join(all, ", ")
}

// The times of a job: a worker is silent for longer than a short stop, and shorter than a long one.
const (
	heartbeat = 200 * time.Millisecond
	timeout   = 2 * time.Second
)

// draw draws a plan. Modes and levels that are not given take turns.
func draw(seed uint64, mode strategy.Mode, name string) plan {
	r := rand.New(rand.NewPCG(seed, 12))
	p := plan{seed: seed, mode: mode, restarts: 5}
	if modes := strategy.Modes(); mode == "" {
		p.mode = modes[seed%uint64(len(modes))]
	}
	p.level = levels[seed/uint64(len(strategy.Modes()))%uint64(len(levels))]
	if i := slices.Index(names(levels), name); i >= 0 {
		p.level = levels[i]
	}
	p.flights = r.IntN(5) == 0
	if r.IntN(5) == 0 {
		p.restarts = 0
	}
	first := drawEvent(r, "")
	p.events = []event{first}
	if r.IntN(4) == 0 {
		second := drawEvent(r, first.whom)
		second.after, second.late = first.after, first.late+time.Duration(r.IntN(3))*50*time.Millisecond
		p.events = append(p.events, second)
	}
	return p
}

// drawEvent draws one that is done to another process than that.
func drawEvent(r *rand.Rand, than string) event {
	e := event{do: []deed{kill, kill, term, pause, pause}[r.IntN(5)]}
	whom := []string{"server 0", "server 1", "worker 0", "worker 1", "fleetrun"}
	for e.whom = than; e.whom == than; {
		e.whom = whom[r.IntN(len(whom))]
	}
	if e.after = r.Int64N(allSteps+allSteps/10) - allSteps/10; e.after < 0 {
		e.after = 0
	}
	e.late = time.Duration(r.IntN(30)) * 10 * time.Millisecond
	if e.stops = timeout / 4; r.IntN(2) == 0 {
		e.stops = timeout * 2
	}
	return e
}
