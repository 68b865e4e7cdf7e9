package twin

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// leg draws the next leg.
func (d *drawer) leg() {
	l := Leg{Workers: d.workers, Servers: d.servers(), Rules: d.rules}
	l.Strategy = d.strategy(l.Servers)
	if l.ordered() && d.p.Net.wide() { // what comes in pieces is of several moments
		l.Strategy.MaxFrame = 0
	}
	if l.kind() == string(strategy.ModeSync) && d.p.Net.pieces {
		l.Strategy.MaxFrame = 4096
	}
	switch {
	case l.copies():
		l.Rules = l.Rules.descent()
		l.From = d.same(l)
		d.shares(&l)
	case len(d.saved) > 0:
		l.From = d.from(l)
		l.Rules = d.rules
	}
	at := len(d.p.Legs)
	for k := range 3 + d.IntN(7) {
		l.Calls = append(l.Calls, d.call(l, at, k)...)
	}
	dir := end(at)
	for k := range l.Calls {
		if c := &l.Calls[k]; c.ends() && d.p.Net.rates() && d.more.IntN(3) > 0 {
			c.Decay, c.Least = pick(d.more, 0, 0.5, 0.9), pick(d.more, 0, 0.07, 0.13)
		}
	}
	l.Calls = append(l.part(d.p.Net), Call{Do: save, Dir: dir})
	if l.blind() {
		l.Calls = slices.DeleteFunc(l.Calls, func(c Call) bool {
			keeps := l.Strategy.GeoRest == strategy.GeoRestKeep // rests of rows that are dropped
			return c.Do == load || c.ends() && keeps || c.Do == rate
		})
	}
	if !l.blind() {
		d.saved = append(d.saved, saved{dir: dir, rules: l.Rules})
	}
	d.p.Legs = append(d.p.Legs, l)
}

// shares may have a worker train with several threads, or exchanges of several workers keep what they leave.
func (d *drawer) shares(l *Leg) {
	switch {
	case !l.blind():
	case often(d.late, 2):
		l.Threads = 2 + d.late.IntN(2)
	default:
		l.Strategy.GeoRest = pick(d.late, strategy.GeoRestKeep, strategy.GeoRestKeep, strategy.GeoRestSend)
	}
}

// ends says whether a call ends a period.
func (c Call) ends() bool { return c.Do == shrink || c.Do == batch }

// servers draws how many servers a leg has.
func (d *drawer) servers() int {
	n := pick(d.Rand, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 5)
	if d.drifts && !often(d.more, 3) {
		return 0
	}
	return n
}

// part puts a barrier between looks and an epoch that another worker may begin meanwhile.
func (l Leg) part(n Net) (calls []Call) {
	for i, c := range l.Calls {
		if l.races(n, i) {
			calls = append(calls, Call{Do: barrier})
		}
		calls = append(calls, c)
	}
	return calls
}

// races says whether an epoch changes what a worker may still look at: its first step brings rows to life, and
// workers without batches are not waited for.
func (l Leg) races(n Net, call int) bool {
	c := l.Calls[call]
	return c.Do == train && (c.idle() || len(n.Tables) > 0) && looked(l.Calls[:call])
}

// idle says whether some worker has no batches.
func (c Call) idle() bool {
	return c.Do == train && slices.ContainsFunc(c.Batches, func(steps [][]int) bool { return len(steps) == 0 })
}

// looked says whether there are looks since all met.
func looked(calls []Call) bool {
	for _, c := range slices.Backward(calls) {
		switch c.Do {
		case look:
			return true
		case reopen:
		default:
			return false
		}
	}
	return false
}

// from draws what a leg begins with: mostly what the leg before has left.
func (d *drawer) from(l Leg) From {
	last := d.saved[len(d.saved)-1]
	if often(d.Rand, 4) {
		last = pick(d.Rand, d.saved...)
	}
	f := From{Dir: last.dir, How: "restore", Only: last.only}
	if l.Servers > 0 {
		f.How = pick(d.Rand, "restore", "restore", "init server", "server", "worker")
	} else if often(d.Rand, 3) {
		f.How = "server" // LoadModel before InitWorker
	}
	if f.How == "restore" && often(d.Rand, 5) {
		f.WeightsOnly = true
		d.rules = d.drawRules()
		return f
	}
	if often(d.Rand, 6) {
		d.rules = d.renumbered(last.rules)
		return f
	}
	d.rules = last.rules
	return f
}

// same is what a leg may begin with without a change of rules.
func (d *drawer) same(l Leg) From {
	for _, s := range slices.Backward(d.saved) {
		if plain(s.rules) == plain(l.Rules) && !s.model {
			return From{Dir: s.dir, How: "restore"}
		}
	}
	return From{}
}

// call draws what workers do next.
func (d *drawer) call(l Leg, leg, k int) []Call {
	switch d.IntN(17) {
	default:
		return d.train(l)
	case 6, 7:
		return []Call{d.look()}
	case 8:
		return []Call{{Do: reopen}}
	case 9:
		calls := []Call{{Do: rate, Factor: pick(d.Rand, 0.5, 2, 0.1, 1)}}
		if often(d.Rand, 2) {
			calls = append(calls, d.reload(l)...)
		}
		return calls
	case 14:
		return d.publish(l, Call{Do: publish, Dir: fmt.Sprintf("dir-%d-%d", leg, k),
			Mode: pick(d.Rand, "", "base", "delta")})
	case 10, 12:
		if len(d.p.Net.params()) > 4 && often(d.Rand, 2) {
			return []Call{{Do: shrink, Unseen: d.IntN(3)}}
		}
		return d.reload(l)
	case 13:
		if len(d.p.Net.Tables) > 0 && len(d.saved) > 0 {
			return append(d.reload(l), Call{Do: shrink, Unseen: 1 + d.IntN(3)})
		}
		return d.publish(l, Call{Do: publish, Dir: fmt.Sprintf("dir-%d-%d", leg, k),
			Mode: pick(d.Rand, "", "base", "delta")})
	case 11:
		dir := fmt.Sprintf("dir-%d-%d", leg, k)
		if often(d.Rand, 3) {
			return []Call{{Do: publish, Dir: dir, Mode: pick(d.Rand, "", "base", "delta", "delta")}}
		}
		if !l.blind() {
			d.saved = append(d.saved, saved{dir: dir, rules: l.Rules})
		}
		if len(d.p.Net.Tables) > 0 && !often(d.batches, 4) {
			return []Call{{Do: batch, Dir: dir, Unseen: d.batches.IntN(3)}}
		}
		return []Call{{Do: save, Dir: dir}}
	}
}

// publish has later legs begin from a whole model.
func (d *drawer) publish(l Leg, c Call) []Call {
	if c.Mode == "" && !l.blind() {
		s := saved{dir: c.model(), rules: l.Rules, model: true}
		if d.p.Net.Ledger { // which no model has
			s.only = append(d.p.Net.params(), d.p.Net.frozen()...)
		}
		d.saved = append(d.saved, s)
	}
	return []Call{c}
}

// drawBases has some bases leave rows out.
func (p *Program) drawBases(r *rand.Rand) {
	for _, l := range p.Legs {
		for k := range l.Calls {
			if c := &l.Calls[k]; c.Do == publish && c.Mode == "base" && p.Net.rates() {
				c.Least, c.Unseen = pick(r, 0, 0.07, 0.13, 0.55), pick(r, 0, 0, 1, 2)
			}
		}
	}
}

// drawLosses has some legs drop all rows: a period ends, and the next one, in which none was used. Where workers train
// copies, half of the legs do, of which some at their end.
func (p *Program) drawLosses(r *rand.Rand) {
	for i := range p.Legs {
		l := &p.Legs[i]
		of := 8
		if l.copies() {
			of = 2
		}
		keeps := l.blind() && l.Strategy.GeoRest == strategy.GeoRestKeep // rests of rows that are dropped
		if !often(r, of) || keeps || len(p.Net.Tables) == 0 {
			continue
		}
		at := max(len(l.Calls)-1-r.IntN(3), 0)
		if at > 0 && l.Calls[at-1].ByHand {
			at++
		}
		l.Calls = slices.Insert(l.Calls, at, Call{Do: shrink, Unseen: 1}, Call{Do: shrink, Unseen: 1})
	}
}

// reload draws a load while the job runs, where one is possible.
func (d *drawer) reload(l Leg) []Call {
	var fit []saved
	for _, s := range d.saved {
		if plain(s.rules) == plain(l.Rules) && !s.model {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 || l.kind() == "collective" {
		return []Call{d.look()}
	}
	c := Call{Do: load, Dir: pick(d.Rand, fit...).dir}
	if often(d.Rand, 3) {
		c.Only = []string{pick(d.Rand, d.p.Net.params()...)}
	}
	return []Call{c}
}

func (d *drawer) look() Call {
	c := Call{Do: look, Who: pick(d.Rand, "same", "other", "fresh")}
	for range 1 + d.IntN(4) {
		c.Samples = append(c.Samples, d.IntN(d.p.Samples))
	}
	return c
}

// train draws an epoch, or the one before once more, and what is behind it.
func (d *drawer) train(l Leg) []Call {
	c := Call{Do: train, ByHand: often(d.Rand, 4), Batches: d.deal()}
	if len(d.epochs) > 0 && often(d.Rand, 3) {
		c.Batches = d.epochs[len(d.epochs)-1].Batches
	}
	for w, steps := range c.Batches {
		for s := range steps {
			if often(d.Rand, 8) {
				who := pick(d.Rand, "same", "other", "fresh")
				c.Looks = append(c.Looks, Look{Worker: w, Step: s, Who: who})
			}
		}
	}
	if l.ordered() {
		for range l.Workers {
			c.Pace = append(c.Pace, 1+d.IntN(12))
		}
	}
	d.epochs = append(d.epochs, c)
	if c.ByHand || often(d.Rand, 2) {
		return []Call{c, {Do: barrier}}
	}
	return []Call{c}
}

// deal deals the samples out, unevenly, in batches that differ in size.
func (d *drawer) deal() [][][]int {
	order := d.Perm(d.p.Samples)
	if often(d.Rand, 3) {
		slices.Sort(order)
	}
	most := 1 + d.IntN(6)
	all := make([][][]int, d.workers)
	for w := range all {
		share := len(order) / (d.workers - w)
		if w+1 < d.workers {
			share = d.IntN(share + share/2 + 1)
		} else {
			share = len(order)
		}
		own := order[:share]
		order = order[share:]
		for len(own) > 0 {
			n := min(len(own), 1+d.IntN(most))
			all[w] = append(all[w], own[:n])
			own = own[n:]
		}
	}
	return all
}
