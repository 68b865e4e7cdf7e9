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
	// recovery returns the strategy's Recovery, for a directory of the run's own.
	recovery func(dir string) strategy.Recovery
	saves    bool // the job has checkpoints
	keeps    bool // acknowledged steps survive servers
}

// levels holds all levels.
var levels = []level{
	{name: "none", recovery: func(string) (r strategy.Recovery) { return r }},
	{name: "checkpoints", saves: true, recovery: often},
	{name: "process", saves: true, keeps: true, recovery: journal(strategy.JournalProcess)},
	{name: "machine", saves: true, keeps: true, recovery: journal(strategy.JournalMachine)},
}

func often(dir string) strategy.Recovery {
	return strategy.Recovery{Dir: dir + "/checkpoints", Every: strategy.Duration(700 * time.Millisecond), Keep: 5}
}

// journal returns a recovery by checkpoints and a journal that survives a process or a machine.
func journal(survives strategy.Journal) func(dir string) strategy.Recovery {
	return func(dir string) strategy.Recovery {
		r := often(dir)
		r.Journal, r.JournalDir, r.RestartTimeout = survives, dir+"/journal", strategy.Duration(15*time.Second)
		return r
	}
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

// event is a deed, its target and its time.
type event struct {
	do    deed
	whom  string        // "server 1", "worker 0" or "fleetrun"
	after int64         // steps of all workers before it; 0 means as soon as there are processes
	late  time.Duration // the delay after that
	stops time.Duration // until SIGCONT
}

func (e event) String() string {
	text := fmt.Sprintf("%s %s", e.do, e.whom)
	if e.do == pause {
		text += fmt.Sprintf(" for %.1fs", e.stops.Seconds())
	}
	return fmt.Sprintf("%s at step %d + %dms", text, e.after, e.late.Milliseconds())
}

// kind names the kind of an event: "kill -9 of a server".
func (e event) kind() string {
	role, _, numbered := strings.Cut(e.whom, " ")
	if numbered {
		role = "a " + role
	}
	return fmt.Sprintf("%s of %s", e.do, role)
}

// takes reports whether the event removes a worker from the job: at once, or since the worker is silent for too long.
func (e event) takes() bool {
	if e.do == pause {
		return strings.HasPrefix(e.whom, "worker") && e.stops >= timeout
	}
	return !strings.HasPrefix(e.whom, "server")
}

// plan describes a run.
type plan struct {
	seed     uint64
	mode     strategy.Mode
	level    level
	flights  bool // the job trains wide & deep
	restarts int  // how many times fleetrun may restart all roles
	events   []event
}

// replay returns the command that repeats the run.
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

// The times of a job: a short stop leaves a worker silent for less than timeout, a long one for more.
const (
	heartbeat = 200 * time.Millisecond
	timeout   = 2 * time.Second
)

// returns is the number of times that fleetrun may restart a server alone.
func (p plan) returns() int {
	if !p.level.keeps {
		return 0
	}
	return 2 * p.restarts
}

// mayGoBack reports whether all roles may go back to the last checkpoint after these events: with journals, only if
// workers go in step and one was removed.
func (p plan) mayGoBack(done []struck) bool {
	inStep := p.mode == strategy.ModeSync || p.mode == strategy.ModeSSP
	return !p.level.keeps || inStep && taken(done)
}

// taken reports whether a worker was removed from the job.
func taken(done []struck) bool {
	return slices.ContainsFunc(done, func(s struck) bool { return s.takes() })
}

// draw draws a plan by seed. Without a mode or level, seeds go through all of them in turn.
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
	first := drawEvent(r, others(""))
	p.events = []event{first}
	if p.level.keeps {
		p.drawMore(r, first)
	} else if r.IntN(4) == 0 {
		p.drawAt(r, first, others(first.whom))
	}
	return p
}

// servers, and the result of others, are the processes that an event may strike; others omits one.
var servers = []string{"server 0", "server 1"}

func others(than string) []string {
	all := append(slices.Clone(servers), "worker 0", "worker 1", "fleetrun")
	return slices.DeleteFunc(all, func(whom string) bool { return whom == than })
}

// drawMore draws, for half of the runs with journals, an event beside the first one or while a server comes back.
func (p *plan) drawMore(r *rand.Rand, first event) {
	switch r.IntN(6) {
	case 0:
		p.drawAt(r, first, servers)
	case 1:
		p.drawAt(r, first, []string{"server 0", "server 1", "worker 0", "worker 1"})
	case 2:
		p.drawAt(r, first, others(first.whom))
	}
}

// drawAt draws an event at about the time of the first.
func (p *plan) drawAt(r *rand.Rand, first event, whom []string) {
	second := drawEvent(r, whom)
	second.after, second.late = first.after, first.late+time.Duration(r.IntN(3))*50*time.Millisecond
	if second.whom == first.whom {
		second.late += time.Duration(10+r.IntN(20)) * 10 * time.Millisecond
	}
	p.events = append(p.events, second)
}

// drawEvent draws an event for one of these processes.
func drawEvent(r *rand.Rand, whom []string) event {
	e := event{do: []deed{kill, kill, term, pause, pause}[r.IntN(5)]}
	e.whom = whom[r.IntN(len(whom))]
	if e.after = r.Int64N(allSteps+allSteps/10) - allSteps/10; e.after < 0 {
		e.after = 0
	}
	e.late = time.Duration(r.IntN(30)) * 10 * time.Millisecond
	if e.stops = timeout / 4; r.IntN(2) == 0 {
		e.stops = timeout * 2
	}
	return e
}
