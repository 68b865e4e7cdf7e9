package ui

import (
	"encoding/json"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
)

// Told is the report of a process for the page of another.
type Told struct {
	Now      time.Time // by its clock
	Stats    *stats.Process
	Warnings []Warning
	Metrics  string // as in Role
}

// Text encodes the report, without the histograms, which the page does not show.
func (t Told) Text() ([]byte, error) {
	s := *t.Stats
	s.Requests, s.Work.Staleness = nil, stats.Histogram{}
	tables := s.Tables
	s.Tables = nil
	for _, of := range tables {
		of.Reads, of.Pushes = stats.Histogram{}, stats.Histogram{}
		s.Tables = append(s.Tables, of)
	}
	t.Stats = &s
	return json.Marshal(t)
}

// Tell applies a process's report, which came at a time of this process's clock, to its role. Times in the report are
// converted to this clock.
func (r *Role) Tell(text []byte, at time.Time) (warnings []Warning, err error) {
	var t Told
	if err := json.Unmarshal(text, &t); err != nil || t.Stats == nil {
		return nil, err
	}
	r.Stats, r.At, r.Metrics = t.Stats, at, t.Metrics
	ahead := at.Sub(t.Now)
	for i := range t.Stats.Server.Waits {
		w := &t.Stats.Server.Waits[i]
		w.Since = w.Since.Add(ahead)
	}
	for i := range t.Warnings {
		w := &t.Warnings[i]
		w.Role, w.At = r.String(), w.At.Add(ahead)
	}
	return t.Warnings, nil
}
