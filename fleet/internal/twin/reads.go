package twin

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/transport"
)

// A reader beside a leg in rounds sees rows as they were behind some update of their server, whose number it is told.
// The twin knows all of them.

// readToken lets readers in.
const readToken = "for readers alone"

// mayRead says whether an update's number says which rows there were: no others come between two updates.
func (l Leg) mayRead(n Net) bool {
	others := func(c Call) bool { return c.Do == load || c.Do == shrink }
	return l.kind() == "sync" && !l.mortal() && len(n.Tables) > 0 && l.From.How != "worker" &&
		!slices.ContainsFunc(l.Calls, others)
}

// read says whether a reader reads, also of a program that was made smaller.
func (l Leg) read(n Net) bool { return l.Reads && l.mayRead(n) }

// drawReads has some legs read.
func (p *Program) drawReads(r *rand.Rand) {
	for i := range p.Legs {
		p.Legs[i].Reads = p.Legs[i].mayRead(p.Net) && often(r, 2)
	}
}

// reads reads the rows of all tables again and again, until it is stopped.
func (r *role) reads(ctx context.Context, network *transport.Memory) (stop func() error, err error) {
	o := reader.Options{Token: readToken, Transport: network, Servers: r.f.ServerEndpoints()}
	beside, err := reader.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var failed error
	all.Go(func() {
		for n := range 50 {
			t := r.p.Net.Tables[n%len(r.p.Net.Tables)]
			rows, err := beside.Rows(ctx, t.Name, t.Pool)
			if failed = err; err != nil {
				return
			}
			for i, id := range t.Pool {
				r.see(wide(rows.W[i*t.Dim:][:t.Dim]), readAt, r.l.End, rows.Moments[i].Update, t.Name, id)
			}
		}
	})
	return func() error {
		cancel()
		all.Wait()
		if errors.Is(failed, context.Canceled) {
			return nil
		}
		return failed
	}, nil
}

// readAt names what a reader sees.
const readAt = "%s reader at update %d sees %s row %d"

// isRead says whether a name is of that: readers see some updates and not others.
func isRead(name string) bool { return strings.Contains(name, " reader at update ") }

// readable notes what a reader may see now.
func (m *model) readable() {
	if !m.l.read(m.p.Net) {
		return
	}
	for _, t := range m.p.Net.Tables {
		for _, id := range t.Pool {
			m.saw.see(evaluating{m.now}.row(t, id), readAt, m.l.End, m.now.steps, t.Name, id)
		}
	}
}
