package twin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/strategy"
)

// Calm is the same training undisturbed: nobody dies, evaluates or publishes, executors stay, servers are others or
// none, variables are whole, and a leg that goes on from all that the one before has left is a part of that. It has
// to come to the same bits. ok is false where bits are not promised.
func (p Program) Calm() (calm Program, ok bool) {
	if calm = p.copy(); p.narrow() {
		return p, false
	}
	calm.Store = false
	var legs []Leg
	for i, l := range calm.Legs {
		if l.ordered() || l.copies() {
			return p, false
		}
		l.calm(p, slices.ContainsFunc(p.Legs, Leg.drifts))
		births := p.Net.Bad == 0 || i > 0 && l.alone() == calm.Legs[i-1].alone()
		if i > 0 && p.Net.Drop == 0 && births && l.goesOn(calm.Legs[i-1]) {
			last := &legs[len(legs)-1]
			last.Calls, last.End = append(last.Calls, l.Calls...), l.End
			last.Servers = max(last.Servers, l.Servers)
			continue
		}
		legs = append(legs, l)
	}
	calm.Legs = legs
	return calm, true
}

// goesOn says whether a leg goes on from all that the one before has left, and trains as it does.
func (l Leg) goesOn(before Leg) bool {
	if len(before.Calls) == 0 {
		return false
	}
	end := before.Calls[len(before.Calls)-1]
	same := l.drifts() == before.drifts() && l.Strategy.LocalSGD == before.Strategy.LocalSGD &&
		l.Strategy.AdaptiveLocalSGD == before.Strategy.AdaptiveLocalSGD &&
		plain(l.Rules) == plain(before.Rules) && l.Strategy.GradientMerge == before.Strategy.GradientMerge &&
		l.Strategy.Weighting == before.Strategy.Weighting && l.Strategy.NotFinite == before.Strategy.NotFinite
	return same && end.Do == save && l.From.Dir == end.Dir && len(end.Only)+len(l.From.Only) == 0 && !l.From.WeightsOnly
}

// calm leaves out of a leg what must not change its numbers; drifts says that some leg's copies meet seldom.
func (l *Leg) calm(p Program, drifts bool) {
	switch kind := l.kind(); {
	case drifts: // servers don't keep how often copies meet
	case kind == "alone" || kind == "collective":
		l.Servers = 1
	default:
		l.Servers = 0
	}
	switch how := l.From.How; {
	case how == "worker" && p.Net.Drop > 0: // a running job that loads keeps its steps, and with them what it drops
		l.Servers = max(l.Servers, 1)
	case how != "":
		l.From.How = "restore"
	}
	var calls []Call
	for _, c := range l.Calls {
		switch c.Do {
		case look, reopen:
			continue
		case publish: // which is where averages of batch norm meet
			begun := func(l Leg) bool { return l.From.Dir == c.model() && c.Mode == "" }
			switch {
			case slices.ContainsFunc(p.Legs, begun):
			case p.Net.Norm == 0:
				continue
			default:
				c.Do, c.Mode = barrier, ""
			}
		case train:
			c.Looks = nil
		case load:
			if l.Servers == 0 && l.Workers > 1 { // ranks load before they begin alone
				l.Servers = 1
			}
		}
		calls = append(calls, c)
	}
	l.Calls, l.Returns = calls, nil
	s := strategy.Sync()
	if l.drifts() {
		s.LocalSGD, s.AdaptiveLocalSGD = l.Strategy.LocalSGD, l.Strategy.AdaptiveLocalSGD
	}
	s.Weighting, s.GradientMerge, s.NotFinite = l.Strategy.Weighting, l.Strategy.GradientMerge, l.Strategy.NotFinite
	l.Strategy = s
	if l.alone() {
		l.Strategy.Weighting = ""
	}
}

// counted says whether a sight is what a process has counted since it began.
func counted(name string) bool {
	return strings.HasSuffix(name, " steps") || strings.HasSuffix(name, " pushes rows") ||
		strings.HasSuffix(name, " guards") || strings.HasSuffix(name, " trains examples") ||
		strings.HasSuffix(name, " counts pushes") ||
		strings.Contains(name, " hold")
}

// Bits are the differences of two plays, where both saw something of the training: which should be none.
func (p Program) Bits(saw, calm Seen) (wrong []string) {
	for _, name := range saw.order {
		want, both := calm.of[name]
		if !both || counted(name) || p.unseen(name) || slices.Equal(saw.of[name], want) {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s: %v, undisturbed %v: the bits differ", name, saw.of[name], want))
	}
	return wrong
}
