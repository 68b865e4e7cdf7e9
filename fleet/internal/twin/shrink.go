package twin

import (
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// Fewest is the smallest program found that still fails, by leaving things out one after the other, as long as tries
// are left.
func Fewest(p Program, fails func(Program) bool, tries int) Program {
	for again := true; again; {
		again = false
		for k := 0; ; k++ {
			smaller, more := p.without(k)
			if !more {
				break
			}
			if smaller == nil || !smaller.whole() || plain(*smaller) == plain(p) {
				continue
			}
			if tries--; tries < 0 {
				return p
			}
			if fails(*smaller) {
				p, again = *smaller, true
				k-- // what was next has this place now
			}
		}
	}
	return p
}

// whole says whether every directory that a program reads was written before.
func (p Program) whole() bool {
	written := map[string]bool{"": true}
	for _, l := range p.Legs {
		uncounted := (l.counted() || l.blind()) && !p.Net.Ledger || l.counted() &&
			l.kind() == string(strategy.ModeSync) && l.Strategy.Weighting != strategy.WeightPushes
		if l.returns() && (!l.mayReturn() || l.Strategy.Recovery.Journal == "") ||
			l.Replaced != nil && !l.mayBeReplaced() {
			return false
		}
		if !written[l.From.Dir] || uncounted {
			return false
		}
		for i, c := range l.Calls {
			unended := c.ByHand && (i+1 == len(l.Calls) || l.Calls[i+1].Do != barrier)
			if unended || l.races(p.Net, i) {
				return false
			}
			switch c.Do {
			case save, batch:
				written[c.Dir] = !l.blind()
			case publish:
				if c.Mode == "" {
					written[c.model()] = !l.blind()
				}
			case load:
				if !written[c.Dir] {
					return false
				}
			}
		}
	}
	return len(p.Legs) > 0
}

// without is the program less one thing, the k-th that may be left out; nil where there is nothing, and no more
// behind the last.
func (p Program) without(k int) (less *Program, more bool) {
	c := p.copy()
	n := -1
	next := func() bool { n++; return n == k }
	if next() && len(c.Legs) > 0 {
		c.Legs = c.Legs[:len(c.Legs)-1]
		return &c, true
	}
	for i := range c.Legs {
		if next() {
			c.Legs = slices.Delete(c.Legs, i, i+1)
			return &c, true
		}
	}
	for i := range c.Legs {
		l := &c.Legs[i]
		for at := len(l.Calls) - 1; at >= 0; at-- {
			if next() {
				l.Calls = slices.Delete(l.Calls, at, at+1)
				return &c, true
			}
		}
	}
	for _, simpler := range simplest {
		if next() {
			simpler(&c)
			return &c, true
		}
	}
	for i := range c.Legs {
		l := &c.Legs[i]
		for _, simpler := range simplerLegs {
			if next() {
				simpler(l)
				return &c, true
			}
		}
		for at := range l.Returns {
			if next() {
				l.Returns = slices.Delete(l.Returns, at, at+1)
				return &c, true
			}
		}
		for at := range l.Strikes {
			if next() {
				l.Strikes = slices.Delete(l.Strikes, at, at+1)
				return &c, true
			}
		}
		for at := range l.Calls {
			call := &l.Calls[at]
			for look := range call.Looks {
				if next() {
					call.Looks = slices.Delete(call.Looks, look, look+1)
					return &c, true
				}
			}
			if next() {
				call.Turn = nil
				return &c, true
			}
			for w := range call.Batches {
				for step := len(call.Batches[w]) - 1; step >= 0; step-- {
					if next() {
						call.Batches[w] = slices.Delete(call.Batches[w], step, step+1)
						steps := len(call.Batches[w])
						behind := func(l Look) bool { return l.Worker == w && l.Step >= steps }
						call.Looks = slices.DeleteFunc(call.Looks, behind)
						return &c, true
					}
					if next() {
						call.Batches[w][step] = call.Batches[w][step][:1]
						return &c, true
					}
				}
			}
			if next() {
				call.Samples = call.Samples[:min(1, len(call.Samples))]
				return &c, true
			}
			if next() {
				call.Pace = nil
				return &c, true
			}
			if next() {
				call.ByHand = false
				return &c, true
			}
		}
	}
	return nil, false
}

// simplest are ways to make a program simpler as a whole.
var simplest = []func(*Program){
	func(p *Program) { p.Store = false },
	func(p *Program) {
		for i := range p.Legs {
			p.Legs[i].Reads = false
		}
	},
	func(p *Program) { p.Net.Ledger = false; p.names() },
	func(p *Program) { p.Net.Beside = false },
	func(p *Program) { p.Net.Bad = 0 },
	func(p *Program) { p.Net.Drop = 0 },
	func(p *Program) {
		p.Net.Norm = 0
		p.names()
	},
	func(p *Program) { p.Net.Hidden = 1 },
	func(p *Program) { p.Net.Inputs = 1 },
	func(p *Program) {
		if len(p.Net.Tables) > 0 {
			p.Net.Tables = p.Net.Tables[:len(p.Net.Tables)-1]
			p.names()
		}
	},
	func(p *Program) {
		if len(p.Net.Tables) > 0 {
			p.Net.Tables = p.Net.Tables[1:]
			p.names()
		}
	},
	func(p *Program) {
		for i := range p.Net.Tables {
			p.Net.Tables[i].Count = 0
		}
	},
	func(p *Program) {
		for i := range p.Net.Tables {
			p.Net.Tables[i].Chance = 0
		}
	},
	func(p *Program) {
		for i := range p.Net.Tables {
			p.Net.Tables[i].Score, p.Net.Tables[i].Clicks = 0, false
		}
		for i := range p.Legs {
			for k := range p.Legs[i].Calls {
				p.Legs[i].Calls[k].Decay, p.Legs[i].Calls[k].Least = 0, 0
			}
		}
	},
	func(p *Program) {
		for i := range p.Net.Tables {
			p.Net.Tables[i].Slots, p.Net.Tables[i].Dim = 1, 1
		}
	},
	func(p *Program) {
		for i := range p.Legs {
			l := &p.Legs[i]
			if l.Workers == 1 {
				return
			}
			l.Workers--
			for k := range l.Calls {
				if c := &l.Calls[k]; c.Do == train {
					c.Batches = c.Batches[:l.Workers]
					c.Looks = slices.DeleteFunc(c.Looks, func(k Look) bool { return k.Worker >= l.Workers })
				}
			}
		}
	},
	func(p *Program) {
		for i := range p.Legs {
			p.Legs[i].Rules.Clip, p.Legs[i].Rules.Except = "", nil
		}
	},
	func(p *Program) { p.rules(func(r *Rule) { r.Schedule, r.LR = Schedule{}, max(r.LR, r.Schedule.LR) }) },
	func(p *Program) { p.rules(func(r *Rule) { r.L1, r.L2 = 0, 0 }) },
	func(p *Program) { p.rules(func(r *Rule) { r.Max = 0 }) },
	func(p *Program) { p.rules(func(r *Rule) { *r = Rule{Kind: r.Kind, LR: r.LR, Schedule: r.Schedule} }) },
	func(p *Program) { p.rules(func(r *Rule) { *r = Rule{Kind: "sgd", LR: 0.05} }) },
	func(p *Program) {
		for i := range p.Legs {
			p.Legs[i].Strategy.KSteps = min(p.Legs[i].Strategy.KSteps, 1)
		}
	},
	func(p *Program) {
		for i := range p.Legs {
			for name := range p.Legs[i].Rules.By {
				if name != ledgerName {
					delete(p.Legs[i].Rules.By, name)
				}
			}
		}
	},
}

// simplerLegs are ways to make a leg simpler.
var simplerLegs = []func(*Leg){
	func(l *Leg) { l.From = From{} },
	func(l *Leg) {
		s := l.Strategy
		l.Strategy = strategy.Strategy{Mode: s.Mode, NotFinite: s.NotFinite}
		if l.returns() {
			l.Strategy.Recovery = s.Recovery
		}
	},
	func(l *Leg) { l.Strategy.GradientMerge = strategy.GradientMerge{} },
	func(l *Leg) { l.Strategy.Weighting = "" },
	func(l *Leg) { l.Strategy.LocalSGD.BeginStep, l.Strategy.AdaptiveLocalSGD.BeginStep = 0, 0 },
	func(l *Leg) { l.Strategy.Payload = "" },
	func(l *Leg) {
		l.Strategy.Placement, l.Strategy.Codec, l.Strategy.MaxFrame = "", "", 0
	},
	func(l *Leg) { l.Strategy.SmallBlocks, l.Strategy.MinBlockSize, l.Strategy.NoSlice = false, 0, false },
	func(l *Leg) { l.Threads = 0 },
	func(l *Leg) { l.Replaced = nil },
	func(l *Leg) { l.served(1) },
	func(l *Leg) { l.served(2) },
	func(l *Leg) {
		if l.From.Dir != "" {
			l.From.How = "restore"
		}
	},
}

// served leaves the leg so many servers at most.
func (l *Leg) served(most int) {
	l.Servers = min(l.Servers, most)
	l.Returns = slices.DeleteFunc(l.Returns, func(d Return) bool { return d.Server >= l.Servers })
	if l.Replaced != nil && l.Replaced.Server >= l.Servers {
		l.Replaced = nil
	}
}

// rules changes every rule but the ledger's.
func (p *Program) rules(change func(*Rule)) {
	for i := range p.Legs {
		r := &p.Legs[i].Rules
		change(&r.All)
		for name, own := range r.By {
			if name != ledgerName {
				change(&own)
				r.By[name] = own
			}
		}
	}
}

// names drops names of params that are gone.
func (p *Program) names() {
	p.Net.Beside = p.Net.Beside && len(p.Net.Tables) > 0
	there := p.Net.params()
	if p.Net.Ledger {
		there = append(there, ledgerName)
	}
	gone := func(name string) bool { return !slices.Contains(there, name) }
	for i := range p.Legs {
		l := &p.Legs[i]
		for name := range l.Rules.By {
			if gone(name) {
				delete(l.Rules.By, name)
			}
		}
		l.Rules.Except = slices.DeleteFunc(l.Rules.Except, gone)
		l.From.Only = slices.DeleteFunc(l.From.Only, func(name string) bool {
			return gone(name) && !slices.Contains(p.Net.frozen(), name)
		})
		for k := range l.Calls {
			if c := &l.Calls[k]; len(c.Only) > 0 {
				if c.Only = slices.DeleteFunc(c.Only, gone); len(c.Only) == 0 {
					c.Only = []string{out}
				}
			}
		}
	}
}

// copy is a program that shares nothing with this one; one that is no plain data has no legs.
func (p Program) copy() (c Program) {
	if parse(plain(p), &c) != nil {
		return Program{}
	}
	return c
}
