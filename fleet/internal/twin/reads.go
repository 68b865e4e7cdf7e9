package twin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/transport"
)

// A reader beside a leg in rounds sees rows as they were behind some update of their server, whose number it is told.
// The twin knows all of them. Where the order of pushes decides, what a server gives at once is of one moment of those
// that passed meanwhile.

// readToken lets readers in.
const readToken = "for readers alone"

// mayRead says whether it is known which rows there were. Readers of the other legs are tested in package fleet/reader:
// where servers come back (TestAServerComesBack, TestAServerComesBackTwice), where workers train copies (TestModes),
// and beside a load or a period's end (TestAMomentNamesOneState): in a leg with an order, a version is what there was
// behind an event and, when all have met, what they have changed then, and none is of the time between.
func (l Leg) mayRead(n Net) bool {
	others := func(c Call) bool { return c.Do == load || c.ends() }
	return l.Servers > 0 && !l.returns() && !l.copies() && len(n.Tables) > 0 && l.From.How != "worker" &&
		(!l.ordered() || !slices.ContainsFunc(l.Calls, others))
}

// read says whether a reader reads, also of a program that was made smaller.
func (l Leg) read(n Net) bool { return l.Reads && l.mayRead(n) }

// drawReads has some legs read.
func (p *Program) drawReads(r *rand.Rand) {
	for i := range p.Legs {
		p.Legs[i].Reads = often(r, 2) && p.Legs[i].Servers > 0
	}
}

// readable is a network that readers have a way of their own to.
type readable struct {
	*transport.Memory
	way func(transport.Transport) transport.Transport
}

// Reader implements [transport.Readable].
func (n readable) Reader(token string) transport.Transport { return n.way(n.Memory.Reader(token)) }

// mostReads is how often a reader reads a table of a leg.
const mostReads = 50

// reads reads the rows of all tables again and again, until it is stopped.
func (r *run) reads(ctx context.Context, l Leg, leg int, network readable) (stop func() error) {
	o := reader.Options{Token: readToken, Transport: network}
	for i := range l.Servers {
		o.Servers = append(o.Servers, fmt.Sprintf("server-%d:1", i))
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var failed error
	all.Go(func() {
		var beside *reader.Reader
		beside, failed = reader.Open(ctx, o)
		for n := 0; n < mostReads && ctx.Err() == nil && failed == nil; n++ {
			failed = r.once(ctx, l, leg, beside, n)
		}
	})
	return func() error {
		cancel()
		all.Wait()
		if errors.Is(failed, context.Canceled) {
			return nil
		}
		return failed
	}
}

// glimpse is what a server has given at once where the order of pushes decides.
type glimpse struct {
	table  Table
	ids    []uint64
	update bool   // the last number is how many updates there were, of one server
	window [2]int // events that there were before it was asked, and behind its answer
}

// once reads the rows of a table.
func (r *run) once(ctx context.Context, l Leg, leg int, beside *reader.Reader, n int) error {
	t := r.p.Net.Tables[n%len(r.p.Net.Tables)]
	before := r.arrived()
	rows, err := beside.Rows(ctx, t.Name, t.Pool)
	if err != nil {
		return err
	}
	window := [2]int{before, r.arrived()}
	r.mu.Lock()
	defer r.mu.Unlock()
	together := map[reader.Moment]bool{}
	for i, id := range t.Pool {
		at := rows.Moments[i]
		if r.order != nil && !together[at] {
			together[at] = true
			r.glimpse(l, leg, t, rows, at, window)
		}
		if r.order != nil {
			continue
		}
		got := seenOf(rows, t, i)
		name := fmt.Sprintf(readAt, l.End, at.Update, at.Remade, t.Name, id)
		if was, twice := r.saw.of[name]; twice && !slices.Equal(was, got) {
			return fmt.Errorf("%s: %v, and before %v: two rows of one update differ", name, got, was)
		}
		r.saw.see(got, "%s", name)
	}
	return nil
}

// glimpse notes what came at once.
func (r *run) glimpse(l Leg, leg int, t Table, rows *reader.Rows, at reader.Moment, window [2]int) {
	g := glimpse{table: t, window: window, update: l.Servers == 1}
	var got []float64
	for i, id := range t.Pool {
		if rows.Moments[i] == at {
			g.ids, got = append(g.ids, id), append(got, seenOf(rows, t, i)...)
		}
	}
	if g.update {
		got = append(got, float64(at.Update))
	}
	r.saw.see(got, "%s glimpse %d", l.End, len(r.saw.glimpses[leg]))
	r.saw.glimpses[leg] = append(r.saw.glimpses[leg], g)
}

// seenOf is whether there is a row, and the row.
func seenOf(rows *reader.Rows, t Table, i int) []float64 {
	return append([]float64{truth(rows.Has[i])}, wide(rows.W[i*t.Dim:][:t.Dim])...)
}

// seenBy is what a reader sees of a row.
func (s *state) seenBy(t Table, id uint64) []float64 {
	return append([]float64{truth(s.rows[t.Name][id] != nil)}, evaluating{s}.row(t, id)...)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// checkGlimpses notes what a reader should have seen until all have met, or until the leg ends.
func (o *ordered) checkGlimpses(m *model) {
	for ; o.glimpsed < len(o.glimpses); o.glimpsed++ {
		g := o.glimpses[o.glimpsed]
		if g.window[1] > o.applied && !m.ends {
			return
		}
		numbers := func(v *state) (all []float64) {
			for _, id := range g.ids {
				all = append(all, v.seenBy(g.table, id)...)
			}
			if g.update {
				all = append(all, float64(v.steps))
			}
			return all
		}
		name := fmt.Sprintf("%s glimpse %d", m.l.End, o.glimpsed)
		at := m.pick(name, g.window[0], g.window[1], o.seen.of[name], numbers)
		m.saw.see(numbers(o.versions[at]), "%s", name)
	}
}

// readAt names what a reader sees.
const readAt = "%s reader at update %d, remade %d times, sees %s row %d"

// isRead says whether a name is of that: readers see some updates and not others.
func isRead(name string) bool { return strings.Contains(name, " reader at update ") }

// readable notes what a reader may see now.
func (m *model) readable() {
	if m.o != nil || !m.l.read(m.p.Net) {
		return
	}
	for _, t := range m.p.Net.Tables {
		for _, id := range t.Pool {
			m.saw.see(m.now.seenBy(t, id), readAt, m.l.End, m.now.steps, m.remade, t.Name, id)
		}
	}
}
