package ui

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
)

// Source says how a job stands now.
type Source func(ctx context.Context) Job

// Job is a job as a source knows it.
type Job struct {
	Name     string    // the program's
	Began    time.Time // zero if it is not known
	At       time.Time // when this was so
	Attempt  string    // "attempt 2 of 4", empty for the first
	Roles    []Role    // servers first, by index
	Warnings []Warning // the oldest first

	saved []stats.Mark
}

// Role is a process of the job.
type Role struct {
	Kind  string // server or worker
	Index int
	State State
	Since time.Time // that it is in this state
	How   string    // it ended
	At    time.Time // when it said its Stats
	Stats *stats.Process

	Log      string      // where it writes
	Metrics  string      // where it shows what it counts, and its goroutines, by FLEET_METRICS; empty if it does not
	Alone    bool        // it may be started again alone
	Again    time.Time   // when it is, of one that rests before
	Restarts []time.Time // that were alone, the oldest first
}

func (r *Role) String() string { return fmt.Sprintf("%s %d", r.Kind, r.Index) }

// State is what is known of a process.
type State string

// The states. A process that is silent runs, and does not answer; one that is away has ended before its work was done,
// and may come back.
const (
	Starts State = "starts"
	Runs   State = "runs"
	Silent State = "silent"
	Away   State = "away"
	Ended  State = "ended"
	Failed State = "failed"
)

// first is the process that knows how the job stands: server 0, or worker 0 of a job without servers. It is nil where
// it has said nothing, or is not among the roles.
func (j *Job) first() *Role {
	at := slices.IndexFunc(j.Roles, func(r Role) bool { return r.Index == 0 }) // servers stand before workers
	if at < 0 || j.Roles[at].Stats == nil {
		return nil
	}
	return &j.Roles[at]
}
