package server

import (
	"log/slog"
	"math"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// rates are the factors on learning rates, which the lowest living worker sets. In rounds a factor counts from the
// update of a round on: the worker sets it before it pushes for that round, or for the next phase when it has parked,
// so that no server has closed the round and all change with the same update. Without rounds it counts from the next
// update.
//
// The worker sends the factor to the servers in their order. If it dies in between, server 0 has the factor, and passes
// it on with the order that takes the worker out of the rounds: no round that needs the factor closes before that.
type rates struct {
	st     *state.Job
	store  *table.Store
	rounds bool
	chosen state.Event[rateRecord]
	log    *slog.Logger
	// coming is empty in modes without rounds. Guarded by the lock.
	coming []rateRecord // for rounds to come, in their order
}

// rateRecord is a factor that a worker has set; without rounds, with all factors of updates from then on.
type rateRecord struct {
	roster.Counted
	Round  uint64  `json:"round"`
	Factor float64 `json:"factor"`
	// Factors is the tables' whole list, and replaces it in a replay.
	Factors []table.Factor `json:"factors,omitempty"`
}

// register makes factors survive a kill: those in use, and those that wait for their rounds.
func (c *rates) register(m *state.Memory) {
	state.AddValue(m, "coming", &c.coming)
	state.AddFact(m, "factors", c.store.Factors, c.store.SetRateFactors)
	c.chosen = state.AddEvent(m, "rate", func(r rateRecord) {
		c.set(mode.Round(r.Round), r.Factor)
		if r.Factors != nil {
			c.store.SetRateFactors(r.Factors)
		}
		if r.Seq > 0 {
			c.st.Roster.Recount(r.Counted, false)
		}
	})
}

// handle sets the factor, once however often the request arrives; a request with Seq 0 reads it. Only the lowest worker
// may set it, or the one that leads the job's epochs, so that two workers can't overwrite each other's. The caller
// holds the lock.
func (c *rates) handle(f *wire.Frame, msg *wire.Rate, r *state.Reply) error {
	if f.Seq == 0 {
		return r.JSON(wire.Rate{Factor: c.factor()})
	}
	if !msg.Leads && !c.st.Roster.Leads(int(f.Worker)) || !(msg.Factor > 0) || math.IsInf(msg.Factor, 1) {
		return wire.Refuse(wire.StatusRefused, "worker %d sets a factor of %v on learning rates: the lowest that "+
			"lives sets it, above 0",
			f.Worker, msg.Factor)
	}
	window := c.st.Roster.Window(int(f.Worker))
	request, seen, err := window.Enter(f.Seq, f.Acked)
	if err != nil || seen {
		return err
	}
	c.set(mode.Round(f.Round), msg.Factor)
	c.record(f, msg.Factor, request)
	request.Apply(0, 0, 0)
	window.Accept(request)
	c.st.Broadcast()
	return nil
}

// set sets the factor of all updates from a round on in modes with rounds, else from the next update on. The caller
// holds the lock. A factor for a round replaces all that were to come from that round on.
func (c *rates) set(round mode.Round, factor float64) {
	if factor == c.factor() {
		return
	}
	c.log.Info("the factor on learning rates has changed", "factor", factor, "before", c.factor())
	if !c.rounds {
		c.store.SetRateFactor(factor)
		return
	}
	for n := len(c.coming); n > 0 && mode.Round(c.coming[n-1].Round) >= round; n = len(c.coming) {
		c.coming = c.coming[:n-1]
	}
	c.coming = append(c.coming, rateRecord{Round: uint64(round), Factor: factor})
}

// record records a factor; without rounds, with the update from which it counts. The caller holds the lock. The record
// has all factors, since records of concurrent updates may be in another order than the updates.
func (c *rates) record(f *wire.Frame, factor float64, as *roster.Request) {
	r := rateRecord{Counted: as.Counted(int(f.Worker), f.Life), Round: f.Round, Factor: factor}
	if !c.rounds {
		r.Factors = c.store.Factors()
	}
	c.chosen.Note(r)
}

// apply sets the factor of a round's update. The caller holds the lock. It is called when the update is taken, on every
// server for the same round.
func (c *rates) apply(round mode.Round) {
	for len(c.coming) > 0 && mode.Round(c.coming[0].Round) <= round {
		c.store.SetRateFactor(c.coming[0].Factor)
		c.coming = c.coming[1:]
	}
}

// factor is the factor that was set last. The caller holds the lock.
func (c *rates) factor() float64 {
	if n := len(c.coming); n > 0 {
		return c.coming[n-1].Factor
	}
	return c.store.RateFactor()
}

// latest is the factor that was set last, and its round, for the order that takes a dead worker out: other servers may
// not have it. It takes the lock itself.
func (c *rates) latest() (factor float64, round uint64) {
	c.st.Lock()
	defer c.st.Unlock()
	if n := len(c.coming); n > 0 {
		round = c.coming[n-1].Round
	}
	return c.factor(), round
}

// saved are the factors that a checkpoint needs, including the one that was set last, which may wait for its round. The
// caller holds the lock.
func (c *rates) saved() []table.Factor { return c.store.RateFactors(c.factor()) }
