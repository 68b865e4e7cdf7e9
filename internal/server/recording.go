package server

import (
	"context"
	"errors"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// recording records updates and parks, and replays them. An update is one record, though it has several effects: rules
// get a gradient, pushes count in their workers' windows, and the mode goes on.
type recording struct {
	st      *state.Job
	part    *state.Part
	rates   *rates
	journal *state.Journal
	parks   state.Event[parkRecord]
	updates state.Record
	counts  []mode.Round // by worker, in modes with rounds: the round after its last counted gradient
}

// parkRecord records that a worker has no more batches in the phase of a round.
type parkRecord struct {
	roster.Counted
	Round uint64 `json:"round"`
}

// updateRecord is the part of an update's record beside its gradient.
type updateRecord struct {
	// Step is the update's number in the tables, and Round the round that it closed.
	Step   int64    `json:"step"`
	Round  uint64   `json:"round"`
	Pushes []pushed `json:"pushes"`
	// Refused are the rows that a full table refused, which a replay can't find out again.
	Refused [][]uint64 `json:"refused,omitempty"` // ids, by section of rows
}

// pushed is a push of an update.
type pushed struct {
	roster.Counted
	Round uint64 `json:"round"`
}

// register makes the workers' progress in rounds, and their pushes in the tables, survive a kill. A base has the mode's
// state even if it is zero: a base without it is refused.
func (c *recording) register(m *state.Memory) {
	state.TryFact(m, "mode", func() *mode.State { // a pointer, so that a zero state is written too
		now := c.st.Mode.State()
		return &now
	}, func(then *mode.State) error {
		if then == nil {
			return errors.New("nothing is said of it")
		}
		c.st.Mode.Resume(*then)
		return nil
	})
	state.AddList(m, "counts", c.counts)
	c.parks = state.TryEvent(m, "park", func(_ context.Context, p parkRecord) error {
		_, err := c.st.Mode.Park(p.Worker, mode.Round(p.Round))
		c.st.Roster.Recount(p.Counted, false)
		return err
	})
	c.updates = state.AddRecord(m, state.KindUpdate, c.play)
}

// record records an update, and waits until the record survives what the journal is to survive. It is called within the
// update, without the lock, when the tables have changed and before the pushes count. An error fails the job.
func (c *recording) record(round mode.Round, pushes []*push, a update.Applied) error {
	if err := c.updates.Append(func(b *wire.Builder) { fillUpdate(b, round, pushes, a) }); err != nil {
		return c.journal.Lost(err)
	}
	return c.journal.Durable()
}

// fillUpdate writes an update into a frame: one section for the dense gradient, and for each embedding with rows one
// section, followed by its clicks.
func fillUpdate(b *wire.Builder, round mode.Round, pushes []*push, a update.Applied) {
	r := updateRecord{Step: a.Step, Round: uint64(round)}
	for _, p := range pushes {
		q := p.request.Counted(p.worker, p.life)
		q.Outcome = wire.Outcome{Applied: uint32(max(p.count()-a.Dropped, 0)),
			Dropped: uint64(min(p.count(), a.Dropped))}
		r.Pushes = append(r.Pushes, pushed{q, uint64(p.round)})
	}
	if a.Dropped > 0 {
		for _, rows := range a.Rows {
			r.Refused = append(r.Refused, rows.Refused)
		}
	}
	_ = b.JSON(r) // of numbers
	b.Dense(a.Dense)
	for _, rows := range a.Rows {
		b.Rows(uint32(rows.Embedding), rows.IDs, rows.G)
		if rows.Clicks != nil {
			b.Clicks(uint32(rows.Embedding), rows.Clicks)
		}
	}
}

// play replays an update, with the effects of take and apply: no gradient is folded and no norm computed again. The
// caller holds the lock.
func (c *recording) play(f *wire.Frame) error {
	var r updateRecord
	if err := f.JSON(&r); err != nil {
		return err
	}
	a, err := appliedOf(f, &r)
	if err != nil {
		return err
	}
	c.rates.apply(mode.Round(r.Round))
	c.part.Store.AdvanceTo(r.Step)
	if err := c.part.Updates.Play(a); err != nil {
		return err
	}
	c.part.Store.Finish(r.Step)
	on := c.part.Updates.Changed()
	for _, q := range r.Pushes {
		q.Outcome.On = on
		c.st.Roster.Recount(q.Counted, true)
		c.st.Mode.Played([]int{q.Worker}, mode.Round(q.Round))
		c.counts[q.Worker] = mode.Round(r.Round) + 1
	}
	return nil
}

// appliedOf is the gradient in an update's frame. Its slices alias the frame, which lives until the update is replayed.
func appliedOf(f *wire.Frame, r *updateRecord) (a update.Applied, err error) {
	a.Step = r.Step
	for _, sec := range f.Sections {
		switch sec.Kind {
		case wire.KindDense:
			a.Dense, err = sec.Dense()
		case wire.KindRows:
			rows := update.AppliedRows{Embedding: int(sec.Param)}
			if n := len(a.Rows); n < len(r.Refused) {
				rows.Refused = r.Refused[n]
			}
			if rows.IDs, err = sec.IDs(nil); err == nil {
				rows.G, err = sec.Rows()
			}
			a.Rows = append(a.Rows, rows)
		case wire.KindClicks:
			if len(a.Rows) > 0 {
				a.Rows[len(a.Rows)-1].Clicks, err = sec.Clicks()
			}
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}
