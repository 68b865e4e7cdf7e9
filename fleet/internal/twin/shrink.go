package twin

import (
	"maps"
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// whole says whether every directory that a program reads was written before.
func (p Program) whole() bool {
	written := map[string]bool{"": true}
	for _, l := range p.Legs {
		if l.returns() && (!l.mayReturn() || l.Strategy.Recovery.Journal == "") {
			return false
		}
		if !written[l.From.Dir] || l.blind() && !p.Net.Ledger {
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

// Less are the ways to leave one thing out of a program, each of which leaves it whole.
func (p Program) Less() []func(*Program) {
	all := slices.Concat(p.withoutLegs(), simplest)
	for i := range p.Legs {
		for _, simpler := range simplerLegs {
			all = append(all, func(p *Program) { simpler(&p.Legs[i]) })
		}
		all = append(all, p.Legs[i].withoutParts(func(p *Program) *Leg { return &p.Legs[i] })...)
	}
	for k, leave := range all {
		all[k] = func(p *Program) {
			was := p.copy()
			if leave(p); !p.whole() {
				*p = was
			}
		}
	}
	return all
}

// withoutLegs leave a leg out, the last first, or a call.
func (p Program) withoutLegs() (all []func(*Program)) {
	for i := range p.Legs {
		all = append(all, func(p *Program) { p.Legs = slices.Delete(p.Legs, i, i+1) })
	}
	if n := len(all); n > 0 {
		all = append([]func(*Program){all[n-1]}, all...)
	}
	for i, l := range p.Legs {
		for at := range slices.Backward(l.Calls) {
			all = append(all, func(p *Program) { p.Legs[i].Calls = slices.Delete(p.Legs[i].Calls, at, at+1) })
		}
	}
	return all
}

// withoutParts leave out of a leg what befalls it, or make a call simpler; of finds the leg in a copy.
func (l Leg) withoutParts(of func(*Program) *Leg) (all []func(*Program)) {
	for at := range l.Returns {
		all = append(all, func(p *Program) { of(p).Returns = slices.Delete(of(p).Returns, at, at+1) })
	}
	for at, call := range l.Calls {
		for _, simpler := range call.simpler() {
			all = append(all, func(p *Program) { simpler(&of(p).Calls[at]) })
		}
	}
	return all
}

// simpler are ways to make a call simpler.
func (c Call) simpler() (all []func(*Call)) {
	for look := range c.Looks {
		all = append(all, func(c *Call) { c.Looks = slices.Delete(c.Looks, look, look+1) })
	}
	all = append(all, func(c *Call) { c.Turn = nil })
	for w, steps := range c.Batches {
		for step := range slices.Backward(steps) {
			all = append(all, func(c *Call) {
				c.Batches[w] = slices.Delete(c.Batches[w], step, step+1)
				left := len(c.Batches[w])
				c.Looks = slices.DeleteFunc(c.Looks, func(l Look) bool { return l.Worker == w && l.Step >= left })
			}, func(c *Call) { c.Batches[w][step] = c.Batches[w][step][:1] })
		}
	}
	return append(all, func(c *Call) { c.Samples = c.Samples[:min(1, len(c.Samples))] },
		func(c *Call) { c.Pace = nil }, func(c *Call) { c.ByHand = false })
}

// simplest are ways to make a program simpler as a whole.
var simplest = []func(*Program){
	func(p *Program) { p.Store = false },
	func(p *Program) { p.Net.Ledger = false; p.names() },
	func(p *Program) { p.Net.Beside = false },
	func(p *Program) { p.Net.Bad = 0 },
	func(p *Program) { p.Net.Drop = 0 },
	func(p *Program) { p.Net.Norm = 0; p.names() },
	func(p *Program) { p.Net.Hidden = 1 },
	func(p *Program) { p.Net.Inputs = 1 },
	func(p *Program) { p.Net.Tables = p.Net.Tables[:max(0, len(p.Net.Tables)-1)]; p.names() },
	func(p *Program) { p.Net.Tables = p.Net.Tables[min(1, len(p.Net.Tables)):]; p.names() },
	eachTable(func(t *Table) { t.Count = 0 }),
	eachTable(func(t *Table) { t.Chance = 0 }),
	func(p *Program) {
		eachTable(func(t *Table) { t.Score, t.Clicks = 0, false })(p)
		eachLeg(func(l *Leg) {
			for k := range l.Calls {
				l.Calls[k].Decay, l.Calls[k].Least = 0, 0
			}
		})(p)
	},
	eachTable(func(t *Table) { t.Slots, t.Dim = 1, 1 }),
	eachLeg(func(l *Leg) {
		l.Workers = max(l.Workers-1, 1)
		for k := range l.Calls {
			if c := &l.Calls[k]; c.Do == train {
				c.Batches = c.Batches[:l.Workers]
				c.Looks = slices.DeleteFunc(c.Looks, func(k Look) bool { return k.Worker >= l.Workers })
			}
		}
	}),
	eachLeg(func(l *Leg) { l.Rules.Clip, l.Rules.Except = "", nil }),
	func(p *Program) { p.rules(func(r *Rule) { r.Schedule, r.LR = Schedule{}, max(r.LR, r.Schedule.LR) }) },
	func(p *Program) { p.rules(func(r *Rule) { r.L1, r.L2 = 0, 0 }) },
	func(p *Program) { p.rules(func(r *Rule) { r.Max = 0 }) },
	func(p *Program) { p.rules(func(r *Rule) { *r = Rule{Kind: r.Kind, LR: r.LR, Schedule: r.Schedule} }) },
	func(p *Program) { p.rules(func(r *Rule) { *r = Rule{Kind: "sgd", LR: 0.05} }) },
	eachLeg(func(l *Leg) { l.Strategy.KSteps = min(l.Strategy.KSteps, 1) }),
	eachLeg(func(l *Leg) {
		maps.DeleteFunc(l.Rules.By, func(name string, _ Rule) bool { return name != ledgerName })
	}),
}

// eachLeg changes all legs, and eachTable all tables.
func eachLeg(change func(*Leg)) func(*Program) {
	return func(p *Program) {
		for i := range p.Legs {
			change(&p.Legs[i])
		}
	}
}

func eachTable(change func(*Table)) func(*Program) {
	return func(p *Program) {
		for i := range p.Net.Tables {
			change(&p.Net.Tables[i])
		}
	}
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
		maps.DeleteFunc(l.Rules.By, func(name string, _ Rule) bool { return gone(name) })
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
