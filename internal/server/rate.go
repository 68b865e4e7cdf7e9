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

// rates are the factors on learning rates that the lowest worker that lives sets. In rounds a factor counts from the
// update of a round on: the worker sets it before it pushes for that round, or for the next phase when it has parked,
// so that no server has closed the round and all change with the same update. Without rounds it counts from the next
// update.
//
// The worker tells servers in their order. If it dies between two of them, server 0 knows, and passes the factor on
// with the order that takes the worker out of the rounds: no round that it was needed for has closed before that.
type rates struct {
	st     *state.Job
	roster *roster.Roster
	store  *table.Store
	rounds bool
	chosen state.Event[rateRecord]
	log    *slog.Logger
	// coming is empty in modes without rounds. Guarded by the lock.
	coming []rateRecord // that rounds to come begin with, in their order
}

// rateRecord is a factor as a worker has set it; without rounds, with all factors that updates have from then on.
type rateRecord struct {
	counting
	Round  uint64  `json:"round"`
	Factor float64 `json:"factor"`
	// Factors are the table's whole list, and replace it when the record is played.
	Factors []table.Factor `json:"factors,omitempty"`
}

// register has the factors outlive a kill: the ones that updates are made with, and the ones that wait for their
// rounds.
func (c *rates) register(m *state.Memory) {
	state.AddValue(m, "coming", &c.coming)
	state.AddFact(m, "factors", c.store.Factors, c.store.SetRateFactors)
	c.chosen = state.AddEvent(m, "rate", func(r rateRecord) {
		c.set(mode.Round(r.Round), r.Factor)
		if r.Factors != nil {
			c.store.SetRateFactors(r.Factors)
		}
		if r.Seq > 0 {
			r.count(c.st.Roster, false)
		}
	})
}

// handle sets the factor, once however often the request arrives, or says which it is. Seq 0 asks. Only the lowest
// worker may set it, so that two workers don't set it against each other.
func (c *rates) handle(f *wire.Frame, msg *wire.Rate, r *state.Reply) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	if f.Seq == 0 {
		return r.JSON(wire.Rate{Factor: c.factor()})
	}
	if !c.roster.Leads(int(f.Worker)) || !(msg.Factor > 0) || math.IsInf(msg.Factor, 1) {
		return wire.Refuse(wire.StatusRefused, "worker %d sets a factor of %v on learning rates: the lowest that "+
			"lives sets it, above 0",
			f.Worker, msg.Factor)
	}
	window := c.roster.Window(int(f.Worker))
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

// set makes factor that of all updates from a round on, where there are rounds, and else of the next one. Locked. A
// factor for a round takes the place of all that were to come from that round on.
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

// record has the journal know of a factor; without rounds with the update that it counts from. Locked. All factors are
// in it, since records of updates beside it may be in another order than the updates were made in.
func (c *rates) record(f *wire.Frame, factor float64, as *roster.Request) {
	r := rateRecord{counting: counting{int(f.Worker), f.Life, as.Saved()}, Round: f.Round, Factor: factor}
	if !c.rounds {
		r.Factors = c.store.Factors()
	}
	c.chosen.Note(r)
}

// apply sets the factor that the update of a round is made with. Locked. It is called when the round's update is taken,
// on every server for the same round.
func (c *rates) apply(round mode.Round) {
	for len(c.coming) > 0 && mode.Round(c.coming[0].Round) <= round {
		c.store.SetRateFactor(c.coming[0].Factor)
		c.coming = c.coming[1:]
	}
}

// factor is the factor that was set last. Locked.
func (c *rates) factor() float64 {
	if n := len(c.coming); n > 0 {
		return c.coming[n-1].Factor
	}
	return c.store.RateFactor()
}

// latest is that factor and its round, for a server that was not told. It is for the order that takes a dead worker
// out, and takes the lock itself.
func (c *rates) latest() (factor float64, round uint64) {
	c.st.Lock()
	defer c.st.Unlock()
	if n := len(c.coming); n > 0 {
		round = c.coming[n-1].Round
	}
	return c.factor(), round
}

// saved are the factors that a job which goes on from here needs: with the one that was set last, which may wait for
// its round. Locked.
func (c *rates) saved() []table.Factor { return c.store.RateFactors(c.factor()) }
