package roster

import (
	"fmt"
	"slices"
	"time"
)

// Options describes the job of a roster, and the server that keeps it.
type Options struct {
	Server   int
	Endpoint string // of that server, as workers are configured
	Workers  int
	Mode     string
	// Lockstep reports that workers wait for each other, so that one that has ended can't come back.
	Lockstep bool
	// Timeout is how long a worker may be silent, and Start how long all may take to join.
	Timeout, Start time.Duration
	// Heartbeat is the interval of a worker's signs of life.
	Heartbeat time.Duration
	// Alone is how long, in lockstep, all wait for a worker that has announced its end: the others may be about to
	// announce theirs, and a checkpoint that they save then has only whole rounds.
	Alone time.Duration
	// Back is how long servers wait for workers that are expected back when no other is left; 0 means not at all.
	Back time.Duration
}

// member is one worker.
type member struct {
	state state
	// life is the worker's current life; requests of earlier lives are refused.
	life uint32
	// fenced reports that server 0 is about to declare the worker dead: its requests are refused.
	fenced bool
	why    string // why it was fenced
	ends   string // why it ends before its work is done, if it has announced so
	mute   bool   // its broken connection was noticed: it announced nothing itself
	// returns reports that it was asked to end, or was killed: it is expected to be started again.
	returns bool
	// awaited reports that it is dead, like all others that had not stopped, and that another life is to go on.
	awaited bool
	// late reports that an earlier life has trained, and that this one has not yet taken part in a collective: it knows
	// less of the job than the others.
	late   bool
	began  time.Time // when this life began, as far as this process knows
	seen   time.Time
	waits  bool // its last heartbeat said that it waits for others
	agrees bool // on a server that came back: no request that it has an answer to is lacking here
	window Window
}

type state uint8

const (
	absent state = iota // has not joined yet
	alive
	left // has stopped
	dead // was silent for too long
)

// fresh reports whether a life has done nothing yet, so that another may take its place in any mode.
func (m *member) fresh() bool { return m.state == alive && m.window.last == 0 && m.window.Len() == 0 }

// lives reports whether a member is in the job.
func (m *member) lives() bool { return m.state == alive && !m.fenced && m.ends == "" }

// Gone reports whether a member has left or is dead.
func (m *member) Gone() bool { return m.state == left || m.state == dead }

// missed reports whether a member has left, or is dead without another life awaited.
func (m *member) missed() bool { return m.Gone() && !m.awaited }

// since describes a member for a process that wants to take its place.
func (m *member) since(now time.Time) string {
	switch {
	case m.state == left:
		return "has stopped"
	case m.state == dead || m.fenced:
		return fmt.Sprintf("counts as dead (%s)", m.why)
	case m.ends != "":
		return fmt.Sprintf("has ended (%s)", m.ends)
	}
	return fmt.Sprintf("was heard %v ago", now.Sub(m.seen).Round(time.Millisecond))
}

// members are all workers of the job.
type members []member

// begun reports whether any worker has joined.
func (all members) begun() bool {
	return slices.ContainsFunc(all, func(m member) bool { return m.state != absent })
}

// gone reports whether every worker has joined and gone.
func (all members) gone() bool {
	return !slices.ContainsFunc(all, func(m member) bool { return !m.missed() })
}

func (all members) describe(w int, now time.Time) string {
	switch m := &all[w]; {
	case m.state == absent:
		return fmt.Sprintf("worker %d (has not joined)", w)
	case m.state == left:
		return fmt.Sprintf("worker %d (has stopped)", w)
	case m.state == dead:
		return fmt.Sprintf("worker %d (died, and was not started again)", w)
	case m.ends != "":
		return fmt.Sprintf("worker %d (has ended: %s)", w, m.ends)
	default:
		return fmt.Sprintf("worker %d (last seen %v ago)", w, now.Sub(m.seen).Round(time.Millisecond))
	}
}
