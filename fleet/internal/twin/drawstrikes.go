package twin

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// mortal draws a last leg whose processes die.
func (d *drawer) mortal() {
	l := Leg{Workers: d.workers, Servers: d.servers(), Rules: d.rules}
	if d.p.Net.Drop > 0 {
		return // what a step dropped whose worker died is seen by nobody
	}
	l.Every = time.Duration(200+d.IntN(4000)) * time.Millisecond
	l.Strategy = d.strategy(l.Servers)
	if l.drifts() {
		l.Every = longest // what a worker's copy has of its own is in no checkpoint within an epoch
	}
	if l.copies() {
		l.Rules = l.Rules.descent()
	}
	d.lostForGood(&l)
	if l.counted() { // the ledger alone can judge it
		l.Strategy.GradientMerge, l.Strategy.Merge = strategy.GradientMerge{}, ""
		if !d.p.Net.Ledger {
			return
		}
	}
	if len(d.saved) > 0 && !l.counted() && often(d.Rand, 2) {
		if f := d.from(l); f.How == "restore" && !f.WeightsOnly {
			l.From = f
			l.Rules = d.rules
		}
	}
	d.threads(&l)
	inStep := l.kind() == string(strategy.ModeSync) || l.kind() == string(strategy.ModeSSP)
	if inStep && !l.goesOnWithout() {
		l.Strategy.Recovery.WorkerLost = pick(d.Rand, "", strategy.WorkerBack)
	}
	l.Strategy.Recovery.Deltas = pick(d.Rand, 0, 0, 2)
	if l.Servers > 0 && often(d.Rand, 4) {
		l.Strategy.Recovery.Journal = strategy.JournalProcess
	}
	if often(d.Rand, 3) {
		s := &l.Strategy
		s.WorkerTimeout = strategy.Duration(pick(d.Rand, 5*time.Second, 10*time.Second, time.Minute))
		s.HeartbeatInterval = s.WorkerTimeout / strategy.Duration(2+d.IntN(8))
		s.StartTimeout = strategy.Duration(pick(d.Rand, time.Minute, 3*time.Minute, 10*time.Minute))
		s.WaitTimeout = strategy.Duration(pick(d.Rand, time.Minute, 15*time.Minute, time.Hour))
	}
	for range 1 + d.IntN(3) {
		c := Call{Do: train, Batches: d.deal()}
		for range l.Workers {
			c.Pace = append(c.Pace, 100+d.IntN(900))
		}
		l.Calls = append(l.Calls, c)
	}
	for range 1 + d.IntN(3) {
		l.Strikes = append(l.Strikes, d.strike(l))
	}
	if !l.drifts() && !often(d.ends, 10) { // what a copy has of its own would be all that it saves
		s := (&drawer{Rand: d.ends}).strike(l)
		s.Kind, s.For = "end", pick(d.ends, 3*time.Second, 45*time.Second, 2*time.Minute)
		l.Strikes = append(l.Strikes, s)
	}
	d.p.Legs = append(d.p.Legs, l)
}

// lostForGood may have the others go on without a worker that dies. Pushes are weighed so that each line of the ledger
// counts what it counts alone.
func (d *drawer) lostForGood(l *Leg) {
	if kind := l.kind(); kind != string(strategy.ModeSync) && kind != string(strategy.ModeSSP) || !d.p.Net.Ledger {
		return
	}
	if !often(d.late, 3) {
		l.Strategy.Recovery.WorkerLost = strategy.WorkerGoOn
		if l.kind() == string(strategy.ModeSync) {
			l.Strategy.Weighting = strategy.WeightPushes
		}
	}
}

// threads may have workers train with several threads, or exchanges of several workers keep what they leave.
func (d *drawer) threads(l *Leg) {
	room := l.kind() == string(strategy.ModeAsync) || l.kind() == string(strategy.ModeHalfAsync) || l.copies()
	switch {
	case l.blind() && !often(d.late, 6):
		l.Strategy.GeoRest = pick(d.late, strategy.GeoRestKeep, strategy.GeoRestKeep, strategy.GeoRestSend)
	case room && (l.counted() || l.blind()) && !often(d.late, 3):
		l.Threads = 2 + d.late.IntN(2)
		if l.kind() == string(strategy.ModeHalfAsync) { // whose threads' pushes meet: each counts as it is
			l.Strategy.Merge = strategy.MergeSum
		}
	}
}

// meets has threads that wait for each other push means, which say how many of them have met; nobody is struck then.
func (l *Leg) meets() {
	if l.Threads > 1 && l.kind() == string(strategy.ModeHalfAsync) {
		l.Strategy.Merge, l.Strikes = strategy.MergeMean, nil
	}
}

// drawReturns has servers of some legs killed, and come back from their journals.
func (p *Program) drawReturns(r *rand.Rand) {
	for i := range p.Legs {
		l := &p.Legs[i]
		if often(r, 2) || !l.mayReturn() {
			continue
		}
		l.Strategy.Recovery.Journal = pick(r, strategy.JournalProcess, strategy.JournalProcess, strategy.JournalMachine)
		l.Strategy.Recovery.Every = strategy.Duration(pick(r, 0, 0, 200*time.Millisecond))
		for range 1 + r.IntN(3) {
			l.Returns = append(l.Returns, Return{Server: r.IntN(l.Servers), After: 1 + r.IntN(1+r.IntN(60)),
				Taken: often(r, 2), For: pick(r, 100*time.Millisecond, 3*time.Second, 20*time.Second)})
		}
	}
}

// drawReplaced has a server of some legs replaced while it is cut off.
func (p *Program) drawReplaced(r *rand.Rand) {
	for i := range p.Legs {
		l := &p.Legs[i]
		if often(r, 3) || l.returns() || !l.mayBeReplaced() {
			continue
		}
		d := Replacement{Server: r.IntN(l.Servers), After: 1 + r.IntN(1+r.IntN(30)), Steps: often(r, 2),
			For: pick(r, time.Second, 3*time.Second, 20*time.Second)}
		if p.Store && d.Server == 0 {
			continue // a lock of a store is given back by itself alone
		}
		l.Strategy.Recovery.Journal = pick(r, strategy.JournalProcess, strategy.JournalMachine)
		l.Replaced, l.Reads = &d, false
	}
}

func (d *drawer) strike(l Leg) Strike {
	s := Strike{Kind: pick(d.Rand, "kill", "pause"), After: time.Duration(d.IntN(12000)) * time.Millisecond}
	if l.alone() {
		s.Kind = "kill" // nobody is there for whom it could stand still
	}
	if s.Role = fmt.Sprintf("worker %d", d.IntN(l.Workers)); l.Servers > 0 && often(d.Rand, 2) {
		s.Role = fmt.Sprintf("server %d", d.IntN(l.Servers))
	}
	s.For = pick(d.Rand, 100*time.Millisecond, 3*time.Second, 20*time.Second, 45*time.Second, 2*time.Minute)
	return s
}
