package epoch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const simMembers = 3

// scenario is a simulated job, and how much may go wrong in it.
type scenario struct {
	name  string
	job   simJob
	units [simMembers]int // of each member's share of an epoch
	every bool            // an evaluation is due after the first unit of a share that has more
	// Budgets of each run:
	ends  int // members and the leader end
	only  int // who alone ends, counted from 1, the leader being the last; 0 for all
	backs int // all go back to a checkpoint, which was made at that moment
	twice int // messages come once more, any time later
	stops int // members want to stop
}

// simJob is a job as its leader and its members know it.
type simJob struct {
	Job
	Epochs  int
	Leases  bool
	Chooses bool // them one at a time
}

// world is a simulated job at one moment. It is never changed once another was made of it.
type world struct {
	*scenario
	leader  *Leader  // nil while its process is down
	records []Record // in its journal
	members [simMembers]simMember
	late    []At   // messages that come again
	answers []Told // answers that come again, to late[i].Worker
	to      []At
	left    [4]int8
	faulty  bool
	stopped bool // some member wants to stop

	ids    []string // evaluations that were acted on, by number
	closed int      // epochs that hooks have ended
	before int      // samples that ends of epochs have counted
	ran    [4]uint8 // by epoch: members that have ended it
	led    [4]bool  // by epoch: one that has ended it has led that
	shown  int      // the last evaluation that one of those that saw it has led
	dead   [4]uint8 // by epoch: those of them that are known to be lost since, in this process or by all
	why    string   // why the job is over
	over   bool     // some member was told so
	short  []int    // of workers
	err    error    // the first promise that was broken
}

const (
	budgetEnds = iota
	budgetBacks
	budgetTwice
	budgetStops
)

// simMember is a worker: its process, and where its pushes are.
type simMember struct {
	m        *Member // nil while its process is down
	life     uint32
	memory   string // of its hooks
	measured uint32 // the life that has measured last
	epoch    int    // of its last push
	units    int
	begun    int
	lost     bool // it was declared
	never    bool // it does not return
	over     bool // it was told so
	gone     bool // it has left
	player   int8 // who trains its rest, counted from 1
}

func newWorld(s *scenario) *world {
	w := &world{scenario: s, leader: NewLeader(s.job.Job)}
	w.left = [4]int8{int8(s.ends), int8(s.backs), int8(s.twice), int8(s.stops)}
	for v := range w.members {
		w.start(v)
	}
	return w
}

// start begins a worker's next life.
func (w *world) start(v int) {
	k := &w.members[v]
	k.life++
	k.m = NewMember(At{Worker: v, Life: k.life}, max(k.epoch, k.begun))
	k.memory, k.lost, k.player = "", false, 0
	k.over, k.gone = false, false
}

// clone is a world to be changed. Machines are shared until [world.lead] and [world.member] are asked for them.
func (w *world) clone() *world { return w.into(new(world)) }

// into makes c, of which only the room is used, a clone.
func (w *world) into(c *world) *world {
	was := *c
	*c = *w
	c.ids, c.records = slices.Clip(w.ids), slices.Clip(w.records)
	c.late, c.answers, c.to = append(was.late[:0], w.late...), append(was.answers[:0], w.answers...), append(was.to[:0], w.to...)
	return c
}

// lead is the leader, to be changed.
func (w *world) lead() *Leader {
	l := *w.leader
	l.seats, l.note = slices.Clone(l.seats), nil
	l.ground.Counted = slices.Clone(l.ground.Counted)
	if l.now != nil {
		l.now = &division{slices.Clone(l.now.parts), l.now.end, slices.Clone(l.now.counted)}
	}
	w.leader = &l
	return &l
}

// member is a worker whose process is to be changed.
func (w *world) member(v int) *simMember {
	k := &w.members[v]
	if k.m != nil {
		m := *k.m
		k.m = &m
	}
	return k
}

// commit notes what the leader wants noted, of which it has done so much when its process ends; -1 is all.
func (w *world) commit(most int) {
	for i, r := range w.leader.Note() {
		if most >= 0 && i >= most {
			break
		}
		if w.records = append(w.records, r); r.Made != nil {
			w.check(r.Made)
		} else {
			w.hooked(r.Ground)
		}
	}
	if most >= 0 {
		w.leader = nil
	}
}

// check holds an evaluation against the promises: its shares cover the test rows once.
func (w *world) check(m *Made) {
	samples, moment := 0, ""
	for i, b := range m.Shares {
		var share, of, n int
		var at string
		if _, err := fmt.Sscanf(string(b), "%d/%d %d %s", &share, &of, &n, &at); err != nil || share != i || of != len(m.Shares) {
			w.wrong("evaluation %d has %q as share %d of %d", m.Number, b, i, len(m.Shares))
		}
		if w.job.InStep && moment != "" && moment != at {
			w.wrong("shares of evaluation %d are of %s and %s", m.Number, moment, at)
		}
		samples, moment = samples+n, at
	}
	if m.End {
		w.before += samples
	}
}

// hooked holds what all have done against the promises: hooks of all that have measured, and are still here, have seen
// the evaluation, and have ended the epoch.
func (w *world) hooked(g *Ground) {
	for _, v := range w.leader.made.By {
		k := &w.members[v]
		if k.m == nil || k.over || k.measured != k.life {
			continue
		}
		if g.Known > strings.Count(k.memory, ";") {
			w.wrong("evaluation %d is over, and worker %d has not seen it", g.Known, v)
		}
		if g.Closed > w.closed && w.ran[g.Closed-1]&(1<<v) == 0 {
			w.wrong("the end of epoch %d is over, and worker %d has not ended it", g.Closed-1, v)
		}
	}
	if g.Known > w.shown {
		w.wrong("evaluation %d is over, and nobody has led it", g.Known)
	}
	if g.Closed > w.closed && !w.led[g.Closed-1] {
		w.wrong("the end of epoch %d is over, and nobody has led it", g.Closed-1)
	}
	w.closed = g.Closed
}

func (w *world) wrong(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// share is how many units of an epoch a worker has trained.
func (w *world) share(v, epoch int) int {
	switch k := &w.members[v]; {
	case epoch < k.epoch:
		return w.units[v]
	case epoch > k.epoch:
		return 0
	default:
		return k.units
	}
}

// says has a worker's message come to the leader, whose process ends after so many records.
func (w *world) says(v, most int) bool {
	a := w.members[v].m.At()
	w.lead().Say(a)
	w.commit(most)
	return true
}

// heard says whether the leader has a member's last message.
func (w *world) heard(v int) bool {
	s, a := &w.leader.seats[v], w.members[v].m.at
	return s.heard && s.at.Life == a.Life && s.at.N == a.N
}

// maySay says whether a worker has a message that the leader lacks, and mayHear, whether the leader has its answer.
func (w *world) maySay(v int) bool {
	k := &w.members[v]
	return w.leader != nil && k.m != nil && k.m.told == nil && !k.over && !w.heard(v)
}

func (w *world) mayHear(v int) bool {
	k := &w.members[v]
	return w.leader != nil && k.m != nil && k.m.told == nil && w.heard(v) && w.leader.seats[v].told != nil
}

// leaves has a worker leave the job, which is over.
func (w *world) leaves(v int) bool {
	k := &w.members[v]
	k.gone = true
	w.lead().Gone(v, k.life)
	w.commit(-1)
	return true
}

// wants has a worker want to stop.
func (w *world) wants(v int) bool {
	w.left[budgetStops]--
	w.stopped = true
	w.member(v).m.Wants(fmt.Sprint("worker ", v))
	return true
}

// again has a message come that was handled before.
func (w *world) again(i int) bool {
	a := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	w.lead().Say(a)
	w.commit(-1)
	return true
}

// toldAgain has an answer come that was handled before.
func (w *world) toldAgain(i int) bool {
	t, a := w.answers[i], w.to[i]
	w.answers, w.to = slices.Delete(w.answers, i, i+1), slices.Delete(w.to, i, i+1)
	if k := w.member(a.Worker); k.m != nil && k.life == a.Life && k.m.Told(&t) {
		w.wrong("worker %d is told twice", a.Worker)
	}
	return true
}

// told has a worker get its answer, and do at once what takes no time.
func (w *world) told(v int) bool {
	t := *w.leader.seats[v].told
	k := w.member(v)
	if !k.m.Told(&t) {
		w.wrong("worker %d does not take the answer to its last message", v)
		return true
	}
	if t.Known > 0 {
		k.memory = string(t.Memory)
	}
	switch t.Do {
	case Begin:
		n := w.job.Epochs
		if w.job.Chooses {
			k.m.Chooses()
			n = t.Epochs
		}
		k.m.Begun(n, w.job.Leases, false)
	case Train:
		if w.job.Chooses && (t.Epoch >= w.recalled().ground.Epochs || k.m.at.Epochs <= t.Epoch) {
			w.wrong("worker %d trains epoch %d, and knows %d", v, t.Epoch, k.m.at.Epochs)
		}
		if k.begun = max(k.begun, t.Epoch); t.Alone && t.Epoch >= w.leader.ground.Ended {
			w.wrong("worker %d is told to train %d, alone %t", v, t.Epoch, t.Alone)
		}
		w.onward(v)
	case Measure:
		k.measured = k.life
		n := 0
		if k.m.at.Epoch == t.Epoch {
			n = w.share(v, t.Epoch)
		}
		for _, s := range t.Counts {
			n += (s.To - s.From) * w.units[s.Worker]
		}
		k.m.Did(fmt.Appendf(nil, "%d/%d %d %s", t.Share, t.Of, n, w.moment()))
	case Act:
		w.acts(v, &t)
	case End:
		w.closes(v, &t)
	case Stand:
		k.m.Did(nil)
	case Stop:
		k.m.Ended(nil)
	case Rest, Choose:
	case Over:
		k.over = true
		w.ends(&t)
	}
	return true
}

// moment is where all workers are.
func (w *world) moment() string {
	var b strings.Builder
	for v := range w.members {
		fmt.Fprintf(&b, "%d.%d,", w.members[v].epoch, w.members[v].units)
	}
	return b.String()
}

// chooses has a worker find the next epoch, as long as the job is to have more.
func (w *world) chooses(v int) bool {
	k := w.member(v)
	if e := k.m.told.Epoch; e < w.job.Epochs {
		k.m.Chose(fmt.Append(nil, "epoch ", e), false)
	} else {
		k.m.Chose(nil, true)
	}
	return true
}

// acts has a worker's hooks see an evaluation, the one after the last that they have seen, or that one again.
func (w *world) acts(v int, t *Told) {
	k, m := &w.members[v], t.Made
	if t.Lead == v {
		w.shown = max(w.shown, m.Number)
	}
	known := strings.Count(k.memory, ";")
	id := fmt.Sprintf("%d:%d%t%s;", m.Number, m.Epoch, m.End, m.Shares)
	switch {
	case t.Again && !w.faulty:
		w.wrong("worker %d sees evaluation %d again, and nothing has gone wrong", v, m.Number)
	case t.Again && m.Number == known && strings.HasSuffix(k.memory, id):
		k.m.Did([]byte(k.memory))
		return
	case m.Number != known+1:
		w.wrong("worker %d sees evaluation %d after %d", v, m.Number, known)
	case m.Number <= len(w.ids) && w.ids[m.Number-1] != id:
		w.wrong("evaluation %d is %q and %q", m.Number, w.ids[m.Number-1], id)
	case m.Number == len(w.ids)+1:
		w.ids = append(w.ids, id)
	}
	k.memory += id
	k.m.Did([]byte(k.memory))
}

// closes has a worker's hooks end an epoch.
func (w *world) closes(v int, t *Told) {
	bit := uint8(1 << v)
	switch {
	case t.Again && !w.faulty:
		w.wrong("worker %d ends epoch %d again, and nothing has gone wrong", v, t.Epoch)
	case !t.Again && w.ran[t.Epoch]&bit != 0:
		w.wrong("worker %d ends epoch %d twice", v, t.Epoch)
	case !t.Again && w.dead[t.Epoch] != 0 && t.Try == w.leader.try: // else it is told once more
		w.wrong("worker %d ends epoch %d, and does not know that one which is gone has", v, t.Epoch)
	}
	w.ran[t.Epoch] |= bit
	w.led[t.Epoch] = w.led[t.Epoch] || t.Lead == v
	k := &w.members[v]
	k.m.Did([]byte(k.memory))
}

// ends holds the end of the job against the promises.
func (w *world) ends(t *Told) {
	if w.over && w.why != t.Why {
		w.wrong("the job is over by %q and %q", w.why, t.Why)
	}
	w.over, w.why, w.short = true, t.Why, nil
	for _, l := range t.Lost {
		w.short = append(w.short, l.Worker)
	}
	if t.Why != "" && !w.stopped {
		w.wrong("the job is over by %q", t.Why)
	}
}

// onward has a worker that trains stand where it is due or its share is trained.
func (w *world) onward(v int) {
	k := &w.members[v]
	t := k.m.Doing()
	switch done := w.share(v, t.Epoch); {
	case done == w.units[v], k.m.at.Stop != "":
		k.m.Ended(nil)
	case done == 1 && w.every && !t.Alone && t.Middles == 0:
		k.m.Due(nil)
	}
}

// trains says whether a worker trains.
func (w *world) trains(v int) bool {
	m := w.members[v].m
	return m != nil && m.told != nil && m.told.Do == Train
}

// mayStep says whether a worker makes a step by itself, out of step.
func (w *world) mayStep(v int) bool { return !w.job.InStep && w.trains(v) }

func (w *world) step(v int) {
	k := w.member(v)
	e := k.m.told.Epoch
	if k.epoch != e {
		k.epoch, k.units = e, 0
	}
	k.units++
	w.onward(v)
}

// round has all workers that train the earliest epoch make a step together. It waits for a process that has ended until
// that is declared, but not for those that stand, as servers do not: whoever evaluates is parked.
func (w *world) round() bool {
	first := w.job.Epochs
	for v := range w.members {
		switch k := &w.members[v]; {
		case k.lost || k.over:
		case k.m == nil:
			return false
		case w.trains(v):
			first = min(first, k.m.told.Epoch)
		}
	}
	for v := range w.members {
		if k := &w.members[v]; !k.lost && w.trains(v) && k.m.told.Epoch == first {
			w.step(v)
		}
	}
	return first < w.job.Epochs
}

// rest has a worker make a step of another's rest.
func (w *world) rest(v int) bool {
	k := w.member(v)
	r := k.m.told.Lost[0].Worker
	o := &w.members[r]
	if o.m != nil || !o.lost || o.player != 0 && o.player != int8(v+1) {
		k.m.Failed()
		return true
	}
	o.player = int8(v + 1)
	if o.units == w.units[r] || o.epoch < o.begun {
		if o.epoch = max(o.epoch+1, o.begun); o.epoch == k.m.at.Epochs {
			o.epoch, o.player, o.begun = o.epoch-1, 0, o.epoch-1
			o.units = w.units[r]
			k.m.Did(nil)
			return true
		}
		o.units = 0
	}
	o.units++
	return true
}

// kill ends a worker's process, for ever or not.
func (w *world) kill(v int, never bool) bool {
	k := &w.members[v]
	k.m, k.never = nil, never
	return true
}

// declare has the leader's process declare a worker lost, or a life of it that another plays.
func (w *world) declare(v int) bool {
	k := &w.members[v]
	for e := range w.dead {
		w.dead[e] |= w.ran[e] & (1 << v)
	}
	k.lost, k.player = true, 0
	at := Left{Worker: v, Epoch: max(k.epoch, k.begun), Samples: uint64(w.share(v, max(k.epoch, k.begun)))}
	w.lead().Lost(k.life, at)
	w.commit(-1)
	return true
}

// recalled is a leader that knows what is in the journal.
func (w *world) recalled() *Leader {
	l := NewLeader(w.job.Job)
	for _, r := range w.records {
		l.Recall(r)
	}
	return l
}

// returns has the leader's process come back, with what its journal has and who is in the job.
func (w *world) returns() bool {
	w.leader = w.recalled()
	for v := range w.members {
		switch k := &w.members[v]; {
		case k.gone:
			w.lead().Gone(v, k.life)
		case k.lost:
			w.declare(v)
		}
	}
	w.commit(-1)
	return true
}

// back has all begin again, with the weights and the facts of this moment.
func (w *world) back() bool {
	facts := w.recalled().Facts()
	w.leader, w.late, w.answers, w.to = NewLeader(w.job.Job), nil, nil, nil
	w.leader.Resume(facts)
	w.records = w.leader.Facts()
	made, ground := &w.leader.made, &w.leader.ground
	w.over, w.why, w.short, w.stopped = false, "", nil, ground.Stop != ""
	w.ids = w.ids[:min(len(w.ids), made.Number)]
	w.dead, w.closed, w.shown = w.ran, ground.Closed, ground.Known
	for v := range w.members {
		w.members[v].never = false
		w.start(v)
	}
	return true
}

// unfinished says what is wrong with a world in which nothing happens any more.
func (w *world) unfinished() error {
	all, counts := 0, 0
	for v := range w.members {
		k := &w.members[v]
		if !k.over && !k.lost {
			return fmt.Errorf("worker %d waits for ever", v)
		}
		if k.over && w.why == "" && (k.epoch != w.job.Epochs-1 || k.units != w.units[v]) {
			return fmt.Errorf("worker %d is told that the job is over in epoch %d", v, k.epoch)
		}
		whole := w.share(v, w.job.Epochs-1) == w.units[v]
		if w.why == "" && k.lost && !whole && !slices.Contains(w.short, v) {
			return fmt.Errorf("nobody has trained what worker %d left, and nobody says so", v)
		}
		if !k.lost || !slices.Contains(w.short, v) {
			counts += w.units[v] * w.job.Epochs
		}
		all += w.units[v] * w.job.Epochs
	}
	if !w.over {
		for v := range w.members {
			if !w.members[v].lost {
				return errors.New("the job does not end")
			}
		}
		return nil // nobody is left
	}
	if w.why == "" && (w.before < counts || w.before > all) {
		return fmt.Errorf("%d samples are counted of %d", w.before, counts)
	}
	if n := w.recalled().ground.Closed; w.why == "" && n != w.job.Epochs {
		return fmt.Errorf("hooks have ended %d epochs", n)
	}
	return nil
}

// key is all that decides how a world goes on, in bytes.
func (w *world) key(b []byte) []byte {
	k := writer{b}
	k.flags(w.leader != nil, w.faulty, w.stopped, w.over, w.led[0], w.led[1], w.led[2])
	k.nums(int(w.left[0]), int(w.left[1]), int(w.left[2]), int(w.left[3]), len(w.ids), w.before, len(w.short), w.shown)
	k.nums(int(w.ran[0]), int(w.ran[1]), int(w.dead[0]), int(w.dead[1]))
	k.text(w.why)
	facts := w.leader
	if facts == nil {
		facts = w.recalled()
	}
	k.ground(&facts.ground)
	k.made(&facts.made)
	for v := range w.members {
		k.member(w, v)
	}
	k.nums(len(w.late), len(w.answers))
	for i := range w.late {
		k.at(&w.late[i])
	}
	for i := range w.answers {
		k.told(&w.answers[i])
	}
	if l := w.leader; l != nil {
		k.flags(l.closing, l.before, l.waits, l.tired, l.looked, l.now != nil)
		k.nums(l.try, l.fails)
		if l.now != nil {
			for _, p := range l.now.parts {
				k.nums(p.worker)
				k.bytes(p.brings)
			}
			k.nums(l.now.counted...)
		}
		for v := range l.seats {
			s := &l.seats[v]
			k.flags(s.heard, s.began, s.gone, s.stopped, s.told != nil, s.over == w.members[v].life, w.members[v].m != nil && w.heard(v))
			k.nums(int(s.left.Epoch), int(s.left.Samples))
			if s.heard {
				k.at(&s.at)
			}
			if s.told != nil {
				k.told(s.told)
			}
		}
	}
	return k.b
}

// writer writes what tells worlds apart. Numbers of messages and lives do so only by which is the last.
type writer struct{ b []byte }

func (k *writer) nums(all ...int) {
	for _, n := range all {
		if -1 <= n && n < 255-1 {
			k.b = append(k.b, byte(n+1))
		} else {
			k.b = binary.AppendVarint(append(k.b, 255), int64(n))
		}
	}
}

func (k *writer) flags(all ...bool) {
	n := byte(0)
	for i, x := range all {
		if x {
			n |= 1 << i
		}
	}
	k.b = append(k.b, n)
}

func (k *writer) text(s string) { k.b = append(append(k.b, byte(len(s))), s...) }

func (k *writer) bytes(s []byte) { k.b = append(append(k.b, byte(len(s))), s...) }

func (k *writer) ground(g *Ground) {
	k.flags(g.Lives != nil, g.Last)
	k.nums(g.Known, g.Ended, g.Closed, g.Middles, g.First, len(g.Memory), g.Epochs)
	k.nums(g.Counted...)
	k.text(g.Stop)
}

func (k *writer) made(m *Made) {
	k.nums(m.Number, m.Epoch, len(m.By))
	k.nums(m.By...)
	k.nums(m.Counted...)
	k.flags(m.End)
	for _, s := range m.Shares {
		k.bytes(s)
	}
}

func (k *writer) at(a *At) {
	k.flags(a.Ended, a.Begins, a.Failed, a.Led, a.Last)
	k.nums(a.Epoch, a.Known, a.Saw, a.Shown, a.For, a.Closed, a.Try, a.Epochs)
	k.text(string(a.Did))
	k.bytes(a.Brought)
	k.text(a.Stop)
}

func (k *writer) told(t *Told) {
	k.text(string(t.Do))
	k.flags(t.Alone, t.Together, t.Again)
	k.nums(t.Epoch, t.First, t.Middles, t.Share, t.Of, t.Try, t.Lead, t.Known, len(t.Lost), len(t.Counts))
	for _, l := range t.Lost {
		k.nums(l.Worker)
	}
	for _, s := range t.Counts {
		k.nums(s.Worker, s.From, s.To)
	}
	k.text(t.Why)
}

func (k *writer) member(w *world, v int) {
	s := &w.members[v]
	k.flags(s.m != nil, s.lost, s.never, s.over, s.gone, s.measured == s.life)
	k.nums(s.epoch, s.units, s.begun, int(s.player), len(s.memory))
	if s.m != nil {
		k.at(&s.m.at)
		if s.m.told != nil {
			k.told(s.m.told)
		}
	}
}
