package cut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	simServers = 3
	simWorkers = 3
)

// scenario is what a simulated job does, and how much may go wrong in it.
type scenario struct {
	name   string
	plans  [simWorkers]Plan // what workers ask for; nil for those that train alone
	rounds bool             // updates need a step of every worker
	slow   bool             // answers travel, and other things happen meanwhile
	// thorough has messages come in every order also when nothing more can go wrong.
	thorough bool
	makes    [simWorkers]int // how many steps workers make beside their cuts
	// Budgets of each run:
	only    int  // the server that alone ends and has messages twice, counted from 1; 0 for all
	fast    bool // parts are written at once
	ends    int  // servers and workers end, calls are given up, servers are not reached, work fails
	twice   int  // orders and questions come once more, any time later
	reports int  // signs of life of server 0 that come at any time; at rest they all come
}

// world is a simulated job at one moment: machines, what is in journals and files, and messages on their way. It is
// never changed once another was made of it.
type world struct {
	*scenario
	servers [simServers]simServer
	leader  *Leader // nil while server 0 is down
	records []Record
	seal    *Sealing
	workers [simWorkers]simWorker
	orders  []simOrder
	answers []simAnswer
	late    []Ask // questions that come again
	reports []simReport

	life      int8 // of server 0's process
	declaring int8 // the worker that server 0 takes out of the job, or -1
	rested    int8 // reports at rest since anything happened
	back      bool // all roles go back to the last checkpoint
	left      [3]int8
	faulty    bool // something went wrong
	did       int  // how many records and orders the leader had last

	seen saw
}

const (
	budgetEnds = iota
	budgetTwice
	budgetReports
)

// saw is what an onlooker of everything notes, to hold against the promises.
type saw struct {
	everHeld [16]uint8
	whole    []uint64 // checkpoints that were committed
	ended    []ended  // final work, by name and server
	orphans  bool     // parts may be left: a server that has written one has ended, or was not reached
	err      error    // the first promise that was broken
}

type ended struct {
	name   string
	server int8
	lost   bool // nothing was listed any more
	at     vec
	clean  bool // the server was not started again since it held the cut first
}

// may says whether a server may end.
func (s *scenario) may(server int) bool { return s.only == 0 || s.only == server+1 }

// vec are the last steps of each worker.
type vec [simWorkers]uint8

type simServer struct {
	down   bool
	f      *Follower // nil while it is down
	names  []Named   // in its journal
	last   vec
	round  uint8
	gone   [simWorkers]bool
	image  vec
	files  []simFile
	listed uint64 // the cut for which something was listed or read aside
	starts int8
}

type simFile struct {
	number uint64
	steps  vec
}

type simWorker struct {
	down, left bool
	call       calling
	ask        Ask
	told       *Told // on its way
	turn       bool  // it may push beside its call
	lives      int8
	result     error
}

type calling uint8

const (
	silent calling = iota
	asks
	over
)

type simOrder struct {
	to   int8
	life int8 // of the leader's process
	late bool
	o    *Order
}

// simAnswer answers an order.
type simAnswer struct {
	simOrder
	a *Answer
}

type simReport struct {
	to          int8
	last, under uint64
}

func newWorld(s *scenario) *world {
	w := &world{scenario: s, leader: NewLeader(simServers), declaring: -1}
	w.left = [3]int8{int8(s.ends), int8(s.twice), int8(s.reports)}
	for i := range w.servers {
		w.servers[i].f = &Follower{}
	}
	if !s.rounds && s.makes[1] > 0 { // one server has a step that others lack
		w.servers[1].last[1] = 1
	}
	for i := range w.workers {
		w.workers[i].ask = Ask{ID: fmt.Sprint("call-", i), Worker: i, Task: taskOf(s.plans[i]...)}
	}
	return w
}

// clone is a world to be changed.
func (w *world) clone() *world { return w.into(new(world)) }

// into makes c, of which only the room is used, a world to be changed. Machines are shared until [world.follower] and
// [world.lead] are asked for them; slices only grow or are replaced.
func (w *world) into(c *world) *world {
	was := *c
	*c = *w
	c.orders, c.answers = append(was.orders[:0], w.orders...), append(was.answers[:0], w.answers...)
	c.late, c.reports = append(was.late[:0], w.late...), append(was.reports[:0], w.reports...)
	c.records = slices.Clip(w.records)
	c.seen.whole, c.seen.ended = slices.Clip(w.seen.whole), slices.Clip(w.seen.ended)
	for i := range c.servers {
		c.servers[i].names = slices.Clip(w.servers[i].names)
		c.servers[i].files = append(was.servers[i].files[:0], w.servers[i].files...)
	}
	return c
}

// follower is a server's follower, to be changed.
func (w *world) follower(s int) *Follower {
	f := *w.servers[s].f
	f.said, f.names = slices.Clip(f.said), slices.Clip(f.names)
	w.servers[s].f = &f
	return &f
}

// lead is the leader, to be changed.
func (w *world) lead() *Leader {
	l := *w.leader
	l.queue = slices.Clone(l.queue)
	l.past = slices.Clone(l.past)
	for i, p := range l.past {
		l.past[i] = copyDone(p)
	}
	if l.cut != nil {
		c := *l.cut
		c.owes, c.held, c.said = slices.Clone(c.owes), slices.Clone(c.held), slices.Clone(c.said)
		l.cut = &c
	}
	w.leader = &l
	return &l
}

func copyDone(d *Done) *Done {
	c := *d
	c.Told = slices.Clone(d.Told)
	return &c
}

// run does what the leader wants done. A server that ends after so many records and orders leaves the others undone; -1
// is none.
func (w *world) run(ends int) {
	todo, n := w.leader.Todo(), 0
	did := func() bool { n++; return ends < 0 || n <= ends }
	for _, r := range todo.Note {
		if r.Done != nil {
			r.Done = copyDone(r.Done)
		}
		if did() {
			w.records = append(w.records, r)
		}
	}
	for _, s := range todo.Send {
		if did() { // it takes the place of another to that server
			w.orders = slices.DeleteFunc(w.orders, func(o simOrder) bool { return int(o.to) == s.To && !o.late })
			w.orders = append(w.orders, simOrder{to: int8(s.To), life: w.life, o: s.Order})
		}
	}
	if todo.Seal != nil && did() {
		w.seal = todo.Seal
	}
	if todo.Fail != nil {
		w.back = true
	}
	w.did = n
}

// intends says whether server 0's journal has the intent of a cut, which is not done.
func (w *world) intends(number uint64) bool {
	for _, r := range slices.Backward(w.records) {
		switch {
		case r.Done != nil && r.Done.Number == number:
			return false
		case r.Intent != nil && r.Intent.Number == number:
			return true
		}
	}
	return false
}

// steps are those of a server, as it says them when it holds.
func (v vec) steps() []uint64 {
	all := make([]uint64, len(v))
	for i, n := range v {
		all[i] = uint64(n)
	}
	return all
}

// closing says that a server has a step of every worker for the open round: an update is under way.
func (w *world) closing(s int) bool {
	if !w.rounds {
		return false
	}
	srv, some := &w.servers[s], false
	for v := range simWorkers {
		has := srv.last[v] > srv.round
		if some = some || has; !has && !srv.gone[v] && w.makes[v] > 0 { // one that makes none is parked
			return false
		}
	}
	return some
}

// applies says whether the update under way on a server can end: all servers have its norms.
func (w *world) applies(s int) bool {
	if w.servers[s].down || !w.closing(s) {
		return false
	}
	for t := range w.servers {
		if w.servers[t].round <= w.servers[s].round && !(w.servers[t].round == w.servers[s].round && w.closing(t)) {
			return false
		}
	}
	return true
}

// reached says whether the steps of a cut are in a server's tables.
func (w *world) reached(s int) bool {
	srv := &w.servers[s]
	for v := range simWorkers {
		if uint64(srv.last[v]) < srv.f.UpTo(v) && !srv.gone[v] {
			return false
		}
	}
	return !w.closing(s)
}

// mayPush says whether a worker has a step on its way to a server, or makes one, and the server takes it.
func (w *world) mayPush(v, s int) bool {
	k, srv := &w.workers[v], &w.servers[s]
	if k.down || k.left || srv.down || srv.gone[v] || int(srv.last[v]) >= w.makes[v] || k.call == asks && !k.turn {
		return false
	}
	step := srv.last[v] + 1
	for t := range w.servers { // the step before is in all tables
		if w.servers[t].last[v]+1 < step || w.rounds && w.servers[t].round+1 < step {
			return false
		}
	}
	return !srv.f.Holds(v, uint64(step))
}

var errFault = errors.New("it fails")

// key is all that decides how a world goes on, in bytes. The servers behind the first are alike: which of them is which
// makes no difference.
func (w *world) key(b []byte) []byte {
	k := writer{b}
	k.flags(w.back, w.faulty, w.seal != nil, w.seen.orphans)
	k.b = append(k.b, byte(w.life), byte(w.declaring), byte(w.rested), byte(len(w.records)))
	k.b = append(k.b, byte(w.left[0]), byte(w.left[1]), byte(w.left[2]))
	for i := range w.workers {
		k.worker(&w.workers[i])
	}
	for i := range w.late {
		k.ask(&w.late[i])
	}
	k.text("|")
	k.nums(w.seen.whole)
	k.leader(w.leader)
	k.server(w, 0)
	at := len(k.b)
	k.server(w, 1)
	mid := len(k.b)
	k.server(w, 2)
	if one, two := k.b[at:mid], k.b[mid:]; string(one) > string(two) {
		k.b = append(append(k.b, two...), one...)
		k.b = append(k.b[:at], k.b[at+len(one)+len(two):]...)
	}
	return k.b
}

// writer writes what tells worlds apart.
type writer struct{ b []byte }

func (k *writer) num(n uint64) {
	if n < 128 {
		k.b = append(k.b, byte(n))
	} else {
		k.b = binary.AppendUvarint(k.b, n)
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

func (k *writer) work(w Work) {
	if w == "" {
		k.b = append(k.b, 0)
		return
	}
	k.b = append(k.b, w[0], w[2])
}

func (k *writer) nums(all []uint64) {
	k.num(uint64(len(all)))
	for _, n := range all {
		k.num(n)
	}
}

func (k *writer) answer(a *Answer) {
	if a == nil {
		k.b = append(k.b, 255)
		return
	}
	k.flags(a.Stale, a.Err != "")
	k.num(a.Number)
	k.work(a.Work)
	k.nums(a.Steps)
	k.num(uint64(a.Step))
}

func (k *writer) order(o *Order) {
	k.num(o.Number)
	k.work(o.Work)
	k.nums(o.Steps)
	k.flags(o.Vain)
}

func (k *writer) ask(a *Ask) {
	k.text(a.ID)
	k.num(a.Number)
	k.num(uint64(a.Knows))
	k.flags(a.Ends, a.GivesUp)
}

func (k *writer) worker(w *simWorker) {
	k.flags(w.down, w.left, w.turn, w.told != nil, w.result != nil)
	k.b = append(k.b, byte(w.call), byte(w.lives))
	k.ask(&w.ask)
	if t := w.told; t != nil {
		k.num(t.Number)
		k.num(uint64(t.Stage))
		k.flags(t.Anew, t.Err != nil)
	}
}

func (k *writer) server(w *world, i int) {
	s := &w.servers[i]
	k.flags(s.down, s.gone[0], s.gone[1], s.gone[2])
	k.b = append(k.b, s.last[:]...)
	k.b = append(k.b, s.image[:]...)
	k.b = append(k.b, s.round, byte(s.listed), byte(s.starts), byte(len(s.names)), byte(len(s.files)))
	for _, f := range s.files {
		k.num(f.number)
		k.b = append(k.b, f.steps[:]...)
	}
	k.follower(s.f)
	for _, o := range w.orders {
		if int(o.to) == i {
			k.b = append(k.b, 'o', byte(o.life))
			k.flags(o.late)
			k.order(o.o)
		}
	}
	for _, a := range w.answers {
		if int(a.to) == i {
			k.b = append(k.b, 'a', byte(a.life))
			k.answer(a.a)
		}
	}
	for _, r := range w.reports {
		if int(r.to) == i {
			k.b = append(k.b, 'r', byte(r.last), byte(r.under))
		}
	}
	if w.leader != nil && w.leader.cut != nil {
		k.work(w.leader.cut.owes[i])
		k.answer(w.leader.cut.held[i])
	}
}

func (k *writer) follower(f *Follower) {
	if f == nil {
		return
	}
	k.num(f.number)
	k.num(f.over)
	k.b = append(k.b, byte(f.state), byte(len(f.said)))
	k.nums(f.steps)
	k.answer(f.held)
	for _, a := range f.said {
		k.answer(a)
	}
	k.order(&f.busy)
	k.flags(f.vain)
}

func (k *writer) leader(l *Leader) {
	if l == nil {
		return
	}
	k.num(l.last)
	for _, a := range l.queue {
		k.text(a.ID)
	}
	for _, p := range l.past {
		k.text(p.Ask.ID)
		k.num(p.Number)
		k.num(uint64(p.Step))
		k.b = append(k.b, byte(len(p.Told)))
		k.flags(p.err != nil)
	}
	if c := l.cut; c != nil {
		k.text(c.ask.ID)
		k.num(c.number)
		k.b = append(k.b, byte(c.phase), byte(c.stage), byte(c.tries))
		k.flags(c.sealed, c.again, c.why != nil, c.read, c.ready)
	}
}
