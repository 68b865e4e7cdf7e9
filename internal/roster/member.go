package roster

import (
	"fmt"
	"slices"
	"time"
)

// Options say which job a roster is of, and which server has it.
type Options struct {
	Server   int
	Endpoint string // of that server, as workers know it
	Workers  int
	Mode     string
	// Lockstep says that workers wait for each other, so that one that has ended can't come back.
	Lockstep bool
	// Timeout is how long a worker may be silent, and Start how long all may take to join.
	Timeout, Start time.Duration
	// Heartbeat is how often a worker shows that it lives.
	Heartbeat time.Duration
	// Alone is how long, in step, all wait for a worker that has said that it ends: the others may be about
	// to say so too, and a checkpoint that they save then has whole rounds alone.
	Alone time.Duration
	// Back is how long servers wait for workers that are expected back, where nobody else is left; 0 for not at all.
	Back time.Duration
}

// member is one worker.
type member struct {
	state state
	// life is the worker's current life; requests of an earlier one are refused.
	life uint32
	// fenced means that server 0 is about to declare it dead: what it still sends is refused.
	fenced bool
	why    string // it was fenced
	ends   string // why, if it has said that it ends before its work is done
	mute   bool   // others have said so for it: it did not choose to
	// returns says that it was asked to end, or was killed: it is expected to be started again.
	returns bool
	// awaited means that it is dead, as all others are who had not stopped, and that another life is to go on.
	awaited bool
	// short means that a life before was declared dead, so that the others may be in later epochs, and it has not
	// caught up with them.
	short bool
	// late means that a life before has trained, and this one has taken part in no collective with the others since: it
	// knows less of the job than they do.
	late   bool
	began  time.Time // this life, as far as this process knows
	seen   time.Time
	waits  bool // for others, as its last heartbeat has said
	agrees bool // on a server that came back: it has not more acknowledged than is here
	window Window
}

type state uint8

const (
	absent state = iota // has not joined yet
	alive
	left // has stopped
	dead // was silent for too long
)

// fresh says whether a life has done nothing yet, so that another may take its place in any mode.
func (m *member) fresh() bool { return m.state == alive && m.window.last == 0 && m.window.Len() == 0 }

// lives says that a member is in the job.
func (m *member) lives() bool { return m.state == alive && !m.fenced && m.ends == "" }

// Gone says that a member has left or is dead.
func (m *member) Gone() bool { return m.state == left || m.state == dead }

// missed says that a member has left, or is dead and no other life of it is awaited.
func (m *member) missed() bool { return m.Gone() && !m.awaited }

// since is what has become of a member, for a process that would take its place.
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

// begun says whether any has joined.
func (all members) begun() bool {
	return slices.ContainsFunc(all, func(m member) bool { return m.state != absent })
}

// gone says whether every one has been here and gone.
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
