package ui

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/observe"
)

// saved records where a job was when its checkpoints became whole, as far as the page was looked at meanwhile.
type saved struct {
	looked bool
	count  int
	at     []observe.Mark
}

// mostSaved is the largest number of checkpoints that are shown.
const mostSaved = 50

// look notes checkpoints since the last look, and adds all of them to the job.
func (s *saved) look(now *Job) {
	count, examples := s.count, 0.0
	if r := now.first(); r != nil {
		count = r.Stats.Server.Checkpoints
	}
	for _, r := range now.Roles {
		for _, c := range trained(r.Training) {
			if n := len(c.Points); n > 0 {
				examples = max(examples, c.Points[n-1][0])
			}
		}
	}
	if s.looked && count > s.count && examples > 0 {
		s.at = append(s.at[max(0, len(s.at)-mostSaved+1):], observe.Mark{At: examples, Kind: "checkpoint",
			Text: fmt.Sprintf("checkpoint %d of this run", count)})
	}
	s.looked, s.count = true, count
	now.saved = slices.Clone(s.at)
}

func trained(t *observe.Training) []observe.Curve {
	if t == nil {
		return nil
	}
	return t.Curves
}

// marked is a job's training, with marks where it was saved.
func (j *Job) marked(t *observe.Training) *observe.Training {
	with := *t
	with.Marks = slices.Concat(t.Marks, j.saved)
	return &with
}
