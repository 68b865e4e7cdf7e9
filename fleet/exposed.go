package fleet

import (
	"github.com/gofleet/gofleet/internal/observe"
)

// health is the state of this role for probes.
func (f *Fleet) health() (s observe.Health) {
	server, _ := f.hosted.now()
	switch {
	case server != nil:
		s.Began, s.Waits = server.Presence()
	case f.IsServer():
		s.Waits = "the server fills its tables"
	default:
		s.Began, s.Waits = f.job.Presence()
	}
	return s
}

// status is what this role says of itself.
func (f *Fleet) status() observe.Role {
	s := f.Stats()
	r := observe.Role{Kind: f.kind(), Index: f.id.Index, Began: f.began, Runs: f.health().Began || s.Counts.Steps > 0,
		Stats: &s, Warnings: f.seen.Warnings.Last()}
	if t, shown := observe.Trained.Load(f.id.Index); shown && f.IsWorker() {
		r.Training = t.(*observe.Training)
	}
	return r
}
