package server

import (
	"time"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
)

// measure sets the gauges of the meter, which read the parts under the lock. A reader of a gauge waits for the lock
// like any request; no push reads one.
func (m *Meter) measure(st *state.Job, r *recovery, journal *state.Journal) {
	gauge := func(read func() float64) count.Gauge {
		return func() float64 {
			st.Lock()
			defer st.Unlock()
			return read()
		}
	}
	workers := func(is roster.Standing) count.Gauge {
		return gauge(func() float64 { return float64(st.Roster.Count(is)) })
	}
	m.absent, m.here, m.left, m.dead = workers(roster.Absent), workers(roster.Here), workers(roster.Left),
		workers(roster.Dead)
	m.phase = gauge(func() float64 { return float64(st.Mode.Open().Phase()) })
	m.round = gauge(func() float64 { return float64(st.Mode.Open().Index()) })
	m.holding = gauge(func() float64 {
		if st.Follower.Number() != 0 {
			return 1
		}
		return 0
	})
	m.waits = gauge(func() float64 { return float64(len(st.Waits)) })
	m.waited = gauge(func() float64 {
		if len(st.Waits) == 0 {
			return 0
		}
		return time.Since(st.Waits[0].Since).Seconds()
	})
	m.age = gauge(func() float64 {
		if r.last.whole.IsZero() {
			return 0
		}
		return time.Since(r.last.whole).Seconds()
	})
	m.took = gauge(func() float64 { return r.last.took.Seconds() })
	m.returned = gauge(func() (lives float64) {
		for _, w := range st.Roster.Members() {
			lives += float64(max(0, w.Life-1)) // all but the first replaced another life
		}
		return lives
	})
	m.life = gauge(func() float64 { return float64(st.Lives.Own()) })
	if journal.Asked {
		m.journal = gauge(func() float64 {
			if !journal.On() {
				return 0
			}
			return float64(journal.Size())
		})
	}
}
