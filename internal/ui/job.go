package ui

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/observe"
)

// Source returns the current state of a job.
type Source func(ctx context.Context) Job

// Job is the state of a job, as a source knows it.
type Job struct {
	Name     string            // the program's
	Began    time.Time         // zero if it is not known
	At       time.Time         // when this was the state
	Attempt  string            // "attempt 2 of 4", empty for the first
	Roles    []Role            // servers first, by index
	Warnings []observe.Warning // the oldest first

	saved []observe.Mark
}

// Role is a process of the job.
type Role struct {
	Kind     string // server or worker
	Index    int
	State    State
	Since    time.Time // beginning of the state
	How      string    // how it ended
	At       time.Time // when its Stats were reported
	Stats    *stats.Process
	Training *observe.Training // nil if it shows none
	Warnings []observe.Warning

	Log      string      // path of its log
	Metrics  string      // address of its metrics, status and goroutines
	Alone    bool        // it may be started again alone
	Again    time.Time   // when it will be started again, if it rests before
	Restarts []time.Time // of this process alone, the oldest first
}

func (r *Role) String() string { return fmt.Sprintf("%s %d", r.Kind, r.Index) }

// State is the state of a process.
type State string

// The states. A silent process runs, and does not answer; one that is away has ended before its work was done, and may
// come back.
const (
	Starts State = "starts"
	Runs   State = "runs"
	Silent State = "silent"
	Away   State = "away"
	Ended  State = "ended"
	Failed State = "failed"
)

// first is the process that has the state of the job: server 0, or worker 0 of a job without servers. It is nil if it
// has reported nothing, or is not among the roles.
func (j *Job) first() *Role {
	at := slices.IndexFunc(j.Roles, func(r Role) bool { return r.Index == 0 }) // servers stand before workers
	if at < 0 || j.Roles[at].Stats == nil {
		return nil
	}
	return &j.Roles[at]
}
