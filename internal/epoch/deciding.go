package epoch

import (
	"math"
	"slices"
)

// decide answers every member for which it is clear what follows.
func (l *Leader) decide() {
	l.waits = false
	for more := true; more; {
		l.answer()
		more = l.begun() || l.measured() || l.acted() || l.closed()
	}
	if l.stand() {
		l.together()
	}
}

// answer answers members that need not wait for others.
func (l *Leader) answer() {
	for w := range l.seats {
		if s := &l.seats[w]; s.asks() {
			if t := l.order(&s.at); t != nil {
				l.tell(s, t)
			}
		}
	}
}

// tell gives a member an order, and what it lacks of the job's memory.
func (l *Leader) tell(s *seat, t *Told) {
	if t.N, t.Lead = s.at.N, l.lead(); t.Do == Act || t.Do == End {
		l.leads = t.Lead
	}
	if t.Place = 2 * uint64(l.made.Number+l.ground.Closed); t.Do == End {
		t.Place++
	}
	if s.at.Begins {
		t.First, t.Together, t.Cards = s.at.next(), l.ground.Lives[s.at.Worker] == s.at.Life, l.ground.Cards
	}
	if s.at.Known < l.ground.Known {
		t.Known, t.Memory = l.ground.Known, l.ground.Memory
	}
	if s.at.Epochs < l.ground.Epochs {
		t.Epochs, t.Chosen = l.ground.Epochs, l.ground.Chosen
	}
	s.told = t
	l.orders++
}

// order returns what a member is told without regard to where others are; nil if it has to wait for them.
func (l *Leader) order(a *At) *Told {
	g := &l.ground
	next := a.next()
	acting, closing := l.made.Number > g.Known, g.Closed < g.Ended
	switch {
	case g.Lives == nil:
		return nil
	case a.Begins:
		return &Told{Do: Begin}
	case g.Stop != "" && !acting && !closing:
		return &Told{Do: Over, Why: g.Stop}
	case next < g.Ended: // it is behind
		return l.train(next)
	case acting && (a.Known < l.made.Number || a.Saw < l.acts):
		m := l.made
		return &Told{Do: Act, Made: &m, Again: l.acts > 0, Try: l.acts}
	case acting:
		return nil
	case closing && (a.Closed < g.Ended || a.Try < l.try):
		l.closing = true
		return &Told{Do: End, Epoch: g.Ended - 1, Again: l.try > 0 || l.before, Try: l.try}
	case closing:
		return nil
	case a.Did == Begin && a.Stop != "" && !l.trains && g.Ended > 0 && g.Middles == 0: // by what was evaluated before
		l.stop()
		l.noteGround()
		return &Told{Do: Over, Why: g.Stop}
	case !a.Ended && a.For <= g.Known && l.job.AtOnce && l.wish() != "":
		return &Told{Do: Stop, Why: l.wish()}
	case !a.Ended && a.For <= g.Known, next < l.epochs && (a.Did == Begin || a.Ended && a.Epoch < g.Ended):
		return l.train(next)
	case l.job.InStep && a.Ended && a.Did == Act: // others may make steps again, without it
		return &Told{Do: Stand}
	}
	return nil
}

func (l *Leader) train(epoch int) *Told {
	t := &Told{Do: Train, Epoch: epoch, Alone: epoch < l.ground.Ended, Middles: l.ground.Middles}
	l.trains = true
	if l.job.AtOnce {
		t.Why = l.wish()
	}
	return t
}

// begun begins the job when every member is here. In step all begin the earliest epoch of any.
func (l *Leader) begun() bool {
	g := &l.ground
	if g.Lives != nil || !l.all(func(s *seat) bool { return s.heard }) {
		return false
	}
	g.Lives, g.Cards, g.First = make([]uint32, l.job.Members), make([][]byte, l.job.Members), math.MaxInt
	for w := range l.seats {
		if s := &l.seats[w]; s.present() {
			g.Lives[w], g.Cards[w], g.First = s.at.Life, s.at.Stands, min(g.First, s.at.next())
		}
	}
	if l.made.Number == 0 && g.Ended == 0 && g.Epochs == 0 { // of a program that led itself until now
		g.Ended, g.Closed = g.First, g.First
		for w := range l.seats {
			g.Counted[w] = g.First
		}
	}
	for w := range l.seats {
		l.place(&l.seats[w].at)
	}
	l.noteGround()
	return true
}

// place puts a member that begins behind the epochs whose samples are counted and, in step, where all begin.
func (l *Leader) place(a *At) {
	if !a.Begins {
		return
	}
	a.Epoch = max(a.Epoch, l.ground.Counted[a.Worker]-1)
	if l.job.InStep && l.ground.Lives != nil {
		a.Epoch = min(a.Epoch, l.ground.First-1)
	}
}

// measured makes an evaluation of all shares.
func (l *Leader) measured() bool {
	d := l.now
	if d == nil || slices.ContainsFunc(d.parts, func(p part) bool { return !p.has }) {
		return false
	}
	m := Made{Number: l.ground.Known + 1, Epoch: l.ground.Ended, End: d.end, Ended: min(l.ground.Ended+1, l.epochs),
		Counted: d.counted}
	for _, p := range d.parts {
		m.By, m.Shares = append(m.By, p.worker), append(m.Shares, p.brings)
	}
	l.now = nil
	l.take(m)
	l.note = append(l.note, Record{Made: &m})
	return true
}

// take takes an evaluation that was made.
func (l *Leader) take(m Made) {
	l.made, l.leads, l.acts = m, -1, 0
	l.ground.Middles++
	if m.End {
		l.ground.Middles, l.ground.Ended, l.ground.Counted = 0, m.Ended, m.Counted
	}
}

// acted goes on when the hooks of all that are concerned have seen an evaluation. One must have led that, else all see
// it again: a lost one may have led, and may not have come to its end.
func (l *Leader) acted() bool {
	n := l.made.Number
	if n <= l.ground.Known || !l.done(func(a *At) bool { return a.Known >= n && a.Saw >= l.acts }) {
		return false
	}
	if !slices.ContainsFunc(l.seats, func(s seat) bool { return s.heard && s.at.Shown >= n }) {
		for w := range l.seats {
			l.acts = max(l.acts, l.seats[w].at.Saw)
		}
		l.acts++
		l.leads = -1
		return true
	}
	if l.ground.Known = n; l.made.End {
		l.stop()
	}
	l.remember(Act)
	return true
}

// closed goes on when the hooks of all that are concerned have ended the epoch. One that is still here must have led
// that, else all end the epoch again: a lost one may have led, and may not have come to its end.
func (l *Leader) closed() bool {
	g := &l.ground
	if l.made.Number > g.Known || g.Closed == g.Ended || g.Lives == nil ||
		!l.done(func(a *At) bool { return a.Closed >= g.Ended && a.Try >= l.try }) {
		return false
	}
	if !slices.ContainsFunc(l.seats, func(s seat) bool { return s.asks() && s.at.Led && s.at.Closed >= g.Ended }) {
		for w := range l.seats {
			l.try = max(l.try, l.seats[w].at.Try)
		}
		l.try++
		l.leads = -1
		return true
	}
	g.Closed = g.Ended
	l.stop()
	l.closing, l.before, l.try = false, false, 0
	l.remember(End)
	return true
}

// stop stops the job if a member wants to, once hooks have ended what is evaluated.
func (l *Leader) stop() {
	if l.ground.Stop == "" {
		l.ground.Stop = l.wish()
	}
}

// done reports whether something is done by every member that is concerned, and by some.
func (l *Leader) done(is func(a *At) bool) bool {
	some := false
	for w := range l.seats {
		s := &l.seats[w]
		if !l.concerned(s, w) {
			continue
		}
		if !s.asks() || !is(&s.at) {
			return false
		}
		some = true
	}
	return some
}

// concerned reports whether a member sees the last evaluation, and the end of its epoch: it has measured, or has come
// since, and is not behind.
func (l *Leader) concerned(s *seat, worker int) bool {
	if !s.present() || s.heard && s.at.next() < l.ground.Ended {
		return false
	}
	return slices.Contains(l.made.By, worker) || s.asks() || s.told != nil && (s.told.Do == Act || s.told.Do == End)
}

// remember notes the ground, with what the lowest member remembers that has done something.
func (l *Leader) remember(did Do) {
	for w := range l.seats {
		if s := &l.seats[w]; s.asks() && s.at.Did == did && s.at.Known == l.ground.Known {
			l.ground.Memory = s.at.Brought
			break
		}
	}
	l.noteGround()
}

func (l *Leader) noteGround() {
	g := l.ground
	l.note = append(l.note, Record{Ground: &g})
}

// stand reports whether every member that is in the job waits for what follows.
func (l *Leader) stand() bool { return l.all((*seat).asks) }

// all reports whether something holds of every member that is in the job, and there is one.
func (l *Leader) all(is func(s *seat) bool) bool {
	some := false
	for w := range l.seats {
		if s := &l.seats[w]; s.present() {
			if some = true; !is(s) {
				return false
			}
		}
	}
	return some
}

// together has members that all stand evaluate, or one of them choose the next epoch, or ends the job.
func (l *Leader) together() {
	done := l.all(func(s *seat) bool { return s.at.next() >= l.epochs })
	if l.ground.Last && !l.looked && l.anew() {
		l.ground.Last = false
		l.noteGround()
	}
	switch {
	case done && l.lend():
	case done && l.ground.Ended >= l.epochs && !l.owes() && l.chooses && !l.ground.Last:
		if l.stop(); l.ground.Stop != "" {
			l.noteGround()
			l.answer()
			return
		}
		l.tell(&l.seats[l.lead()], &Told{Do: Choose, Epoch: l.epochs})
	case done && l.ground.Ended >= l.epochs && !l.owes():
		for w := range l.seats {
			if s := &l.seats[w]; s.present() {
				l.tell(s, &Told{Do: Over, Lost: l.lost()})
			}
		}
	default:
		l.divide()
	}
}

// anew reports whether all members have begun since the leader's process has, and none has left: its journal is of a
// run that was over, and there may be more epochs by now.
func (l *Leader) anew() bool {
	return l.all(func(s *seat) bool { return s.began }) &&
		!slices.ContainsFunc(l.seats, func(s seat) bool { return s.stopped })
}

// lost returns what lost members have left.
func (l *Leader) lost() (all []Left) {
	for w := range l.seats {
		if s := &l.seats[w]; l.epochs > 0 && s.gone && !(s.heard && s.at.next() >= l.epochs) {
			all = append(all, s.left)
		}
	}
	return all
}

// lend waits for lost members, and then has others train what they have left. It reports whether that is to be waited
// for.
func (l *Leader) lend() bool {
	lost := l.lost()
	if len(lost) == 0 || !l.leases || l.fails == mostFails || l.wish() != "" {
		return false
	}
	if l.waits = !l.tired; l.waits {
		return true
	}
	for w := range l.seats {
		if s := &l.seats[w]; s.asks() && len(lost) > 0 {
			l.tell(s, &Told{Do: Rest, Lost: lost[:1]})
			lost = lost[1:]
		}
	}
	return true
}

// owes reports whether some member has ended epochs whose samples are in no evaluation.
func (l *Leader) owes() bool {
	for w := range l.seats {
		if s := &l.seats[w]; l.counts(s) && l.ground.Counted[w] < min(s.at.next(), l.ground.Ended) {
			return true
		}
	}
	return false
}

// counts reports whether a member's samples can be counted: by itself or, where members know them, by another.
func (l *Leader) counts(s *seat) bool { return s.heard && (s.asks() || !l.apart) }

// divide divides the test rows among the members that stand. Each counts its samples of earlier epochs too, if no
// evaluation has, and the first those of lost members.
func (l *Leader) divide() {
	g := &l.ground
	l.now = &division{end: true, counted: slices.Clone(g.Counted)}
	counts, stands := make([][]Span, l.job.Members), [][]byte(nil)
	for w := range l.seats {
		if s := &l.seats[w]; s.asks() {
			l.now.parts, l.now.end = append(l.now.parts, part{worker: w}), l.now.end && s.at.Ended
			stands = append(stands, s.at.Stands)
		}
	}
	first := l.now.parts[0].worker
	for w := range l.seats {
		s, by, to := &l.seats[w], first, g.Ended
		if s.asks() {
			by = w
		} else if l.now.end {
			to = g.Ended + 1
		}
		if to = min(s.at.next(), to, l.epochs); l.counts(s) && g.Counted[w] < to {
			counts[by], l.now.counted[w] = append(counts[by], Span{w, g.Counted[w], to}), to
		}
	}
	for i, p := range l.now.parts {
		l.now.counted[p.worker] = min(g.Ended+1, l.epochs)
		l.tell(&l.seats[p.worker], &Told{Do: Measure, Epoch: g.Ended, Share: i, Of: len(l.now.parts),
			End: l.now.end, Stands: stands, Counts: counts[p.worker]})
	}
}

// wish returns why the lowest member that wants to stop does, "" if none does.
func (l *Leader) wish() string {
	for w := range l.seats {
		if why := l.seats[w].at.Stop; why != "" {
			return why
		}
	}
	return ""
}

// lead returns the member that leads: the lowest that measures, or has measured the last evaluation, is still here and
// not behind; else another that sees that evaluation. Hooks that have begun are led by one member, unless it is lost.
func (l *Leader) lead() int {
	here := func(w int) bool { return !l.seats[w].gone && !l.seats[w].stopped }
	with := func(w int) bool {
		s := &l.seats[w]
		return here(w) && !(s.heard && s.at.next() < l.ground.Ended)
	}
	switch {
	case l.now != nil:
		return l.now.parts[0].worker
	case l.leads >= 0:
		return l.leads
	}
	if i := slices.IndexFunc(l.made.By, with); i >= 0 {
		return l.made.By[i]
	}
	for w := range l.seats { // none of them while nothing was evaluated
		if len(l.made.By) > 0 && l.concerned(&l.seats[w], w) {
			return w
		}
	}
	if i := slices.IndexFunc(l.made.By, here); i >= 0 {
		return l.made.By[i]
	}
	return slices.IndexFunc(l.seats, func(s seat) bool { return !s.gone && !s.stopped })
}
