package roster

import (
	"time"

	"github.com/gofleet/gofleet/internal/mode"
)

// Death is what server 0 learns from all servers while it declares a worker dead. A server that can't be reached says
// nothing.
type Death struct {
	Worker int
	Life   uint32
	Silent time.Duration
	Why    string // it is dead
	// Returns says that the next life is expected.
	Returns bool

	fenced  int        // servers that have answered
	round   mode.Round // that is open on them, if it is one
	differ  bool       // it is not
	lacking bool       // one has no gradient of the worker for it
	counts  map[int]mode.Round
}

// Fenced takes note that a server refuses what the life still sends: which round is open there, and whether it has the
// worker's gradient.
func (d *Death) Fenced(round mode.Round, pushed bool) {
	d.differ = d.differ || d.fenced > 0 && round != d.round
	d.fenced, d.round, d.lacking = d.fenced+1, round, d.lacking || !pushed
}

// Forget says whether the gradient for the open round must count nowhere, since some server lacks it. Where a server
// has gone on already, it is in that server's weights, and servers that hold it count it too.
func (d *Death) Forget() bool { return !d.differ && d.lacking }

// Dropped takes note that a server has taken the worker out, and of the first round that has no gradient of it there.
func (d *Death) Dropped(server int, counts mode.Round) {
	if d.counts == nil {
		d.counts = map[int]mode.Round{}
	}
	d.counts[server] = counts
}

// Torn says which servers have the worker's gradient in the last round in which any of them has it, and which have not:
// these had not been given it when it died, and others had closed the round.
func (d *Death) Torn(servers int) (round mode.Round, with, without []int) {
	for _, c := range d.counts {
		round = max(round, c)
	}
	for s := range servers {
		switch c, ok := d.counts[s]; {
		case ok && c == round:
			with = append(with, s)
		case ok:
			without = append(without, s)
		}
	}
	return round - 1, with, without
}
