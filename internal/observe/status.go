package observe

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
)

// Status is what a process says of itself at /status.
type Status struct {
	Now     time.Time // by the clock of the process
	Program string
	Roles   []Role
}

// Role is a role of a process. Stats have its waits and, of server 0, the members of the job.
type Role struct {
	Kind     string // server or worker
	Index    int
	Began    time.Time
	Runs     bool // it has begun to serve, or has joined
	Stats    *stats.Process
	Warnings []Warning // the oldest first
	Training *Training // nil if the program shows none
}

// Training is the progress of training.
type Training struct {
	Epochs int // planned number of epochs; 0 if unknown
	Curves []Curve
	Marks  []Mark
}

// Curve is a line of a panel, such as the loss on the test rows. Its points, at most a few hundred, are the number of
// examples that all workers have trained on and a finite value.
type Curve struct {
	Panel, Name string
	Points      [][2]float64
	Best        []float64 // the best point, empty where none is
}

// Mark is an event on the curves: the end of an epoch, a restart, or a checkpoint.
type Mark struct {
	At         float64 // examples
	Kind, Text string  // Kind is epoch, restart or checkpoint
}

// Trained has the training of this process's workers by index, a *Training each. A stored value does not change.
var Trained sync.Map

// longestStatus is the most bytes of a status.
const longestStatus = 16 << 20

// Ask asks the process whose page has this address for its status. Times in it are those of this process's clock.
func Ask(ctx context.Context, addr, token string) (s Status, err error) {
	text, err := Get(ctx, addr, "/status", token, longestStatus)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	s.here(time.Now())
	return s, err
}

// here converts the times of a status that came at a time of this clock.
func (s *Status) here(at time.Time) {
	ahead := at.Sub(s.Now)
	for i := range s.Roles {
		r := &s.Roles[i]
		r.Began = r.Began.Add(ahead)
		for k := range r.Warnings {
			r.Warnings[k].At = r.Warnings[k].At.Add(ahead)
		}
		if r.Stats == nil {
			continue
		}
		for k := range r.Stats.Server.Waits {
			w := &r.Stats.Server.Waits[k]
			w.Since = w.Since.Add(ahead)
		}
		for k := range r.Stats.Server.Members {
			if m := &r.Stats.Server.Members[k]; !m.Since.IsZero() {
				m.Since = m.Since.Add(ahead)
			}
		}
	}
	s.Now = at
}
