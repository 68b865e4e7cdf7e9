package cut

import (
	"errors"
	"fmt"
	"slices"
)

// What can happen in a world. Each says false where it can't.

// question has a worker ask, for the first time in its turn.
func (w *world) question(v int) bool {
	k := &w.workers[v]
	if w.plans[v] == nil || k.down || k.left || k.call == over || k.told != nil || w.leader == nil {
		return false
	}
	if k.call == silent {
		if !w.settled(v) {
			return false
		}
		k.call, k.turn = asks, false
	}
	ask := k.ask
	told := w.lead().Ask(&ask)
	w.run(-1)
	if told.News(&k.ask) {
		k.told = &told
	}
	return true
}

// settled says that all that a worker has pushed is in all tables.
func (w *world) settled(v int) bool {
	for s := range w.servers {
		if srv := &w.servers[s]; srv.down || srv.last[v] != w.servers[0].last[v] || w.rounds && srv.last[v] > srv.round {
			return false
		}
	}
	return true
}

// asksTwice has a worker ask, by a message that comes again.
func (w *world) asksTwice(v int) bool {
	ask := w.workers[v].ask
	if w.workers[v].call != asks || !w.question(v) {
		return false
	}
	w.left[budgetTwice]--
	w.late = append(w.late, ask)
	return true
}

func (w *world) lateAsk(i int) bool {
	if w.leader == nil {
		return false
	}
	ask := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	if ask.ID == w.workers[ask.Worker].ask.ID && !w.servers[0].gone[ask.Worker] { // else the door refuses it
		w.lead().Ask(&ask)
		w.run(-1)
	}
	return true
}

// hears has a worker go on with what it is told.
func (w *world) hears(v int) bool {
	k := &w.workers[v]
	if k.told == nil || k.down {
		return false
	}
	t := *k.told
	k.told = nil
	switch {
	case t.Err != nil:
		k.call, k.turn, k.result = over, true, t.Err
	case t.Stage == Whole:
		k.call, k.turn = over, true
		w.checkWhole(k, t)
	case t.Anew:
		k.ask.Number, k.ask.Knows, k.ask.Ends = 0, Queued, false
	case k.ask.GivesUp:
	default:
		k.ask.Number, k.ask.Knows, k.ask.Ends = t.Number, t.Stage, false
		if t.Stage == Held && w.seen.everHeld[t.Number] != 1<<simServers-1 {
			w.bad("I7: worker %d is asked for progress, and not all servers hold cut %d", v, t.Number)
		}
		if t.Stage == Reached {
			k.turn = k.ask.Task.Plan().resumes()
			if k.ask.Task.Plan().waits(Reach) {
				w.reads(k)
			}
		}
	}
	return true
}

// reads has a worker read all servers' tables, which are of the same steps.
func (w *world) reads(k *simWorker) {
	for s := range w.servers {
		if srv := &w.servers[s]; srv.down || srv.f.Number() != k.ask.Number || srv.f.state != kept {
			k.ask.GivesUp = true // a server was started again
			return
		}
	}
	k.ask.Ends = true
	w.same("I6: what is read", w.servers[0].last, w.servers[1].last, w.servers[2].last)
}

// same holds the steps of servers to each other, but for those of workers that were taken out of the job.
func (w *world) same(what string, of ...vec) {
	for v := range simWorkers {
		out := w.workers[v].left
		for s := range w.servers {
			out = out || w.servers[s].gone[v]
		}
		for _, o := range of[1:] {
			if !out && o[v] != of[0][v] {
				w.bad("%s has steps %v", what, of)
				return
			}
		}
	}
}

// perform has a server do what it has begun.
func (w *world) perform(s int, fails bool) bool {
	srv := &w.servers[s]
	if srv.down {
		return false
	}
	if srv.f.number != 0 && srv.f.state == settling {
		if fails || w.closing(s) {
			return false
		}
		f := w.follower(s)
		f.Idle(Answer{Steps: srv.last.steps(), In: srv.last.steps(), Step: w.step(s)})
		w.seen.everHeld[f.number] |= 1 << s
		return true
	}
	o := srv.f.Busy()
	if o.Work == "" {
		return false
	}
	err, said := error(nil), []byte("found")
	if fails {
		err, said = errFault, nil
	}
	switch o.Work {
	case Reach:
		if srv.f.Wanted(o.Number) && !w.reached(s) {
			return false
		}
		srv.image, srv.listed = srv.last, o.Number
	case Write:
		if err == nil {
			err = w.write(s, o.Number)
		}
	default:
		if fails && !(o.Work == Take && srv.listed != o.Number) { // then it has to be read again
			return false
		}
		if err == nil {
			w.finally(s, &o)
		}
	}
	if w.follower(s).Did(said, err) {
		w.remove(s, o.Number)
	}
	return true
}

// step is the update that a server's tables are at.
func (w *world) step(s int) int64 {
	if w.rounds {
		return int64(w.servers[s].round)
	}
	n := int64(0)
	for _, k := range w.servers[s].last {
		n += int64(k)
	}
	return n
}

// file is what the number of a cut becomes in a file's name.
func (w *world) file(number uint64) uint64 {
	var n uint64
	_, _ = fmt.Sscanf(FileID(7, number), "7-%d", &n)
	return n
}

func (w *world) write(s int, number uint64) error {
	file := w.file(number)
	if slices.ContainsFunc(w.servers[s].files, func(f simFile) bool { return f.number == file }) {
		return errors.New("it was written before")
	}
	w.servers[s].files = append(w.servers[s].files, simFile{file, w.servers[s].image})
	return nil
}

func (w *world) remove(s int, number uint64) {
	if slices.Contains(w.seen.whole, number) {
		w.bad("I10: server %d removes its part of checkpoint %d, which is whole", s, number)
	}
	file := w.file(number)
	w.servers[s].files = slices.DeleteFunc(w.servers[s].files, func(f simFile) bool { return f.number == file })
}

// finally does what can't be taken back, with its name in the journal.
func (w *world) finally(s int, o *Order) {
	srv := &w.servers[s]
	if !w.intends(o.Number) {
		w.bad("I8: server %d does %s, and there is no intent", s, o.Name)
	}
	for _, e := range w.seen.ended {
		if e.name == o.Name && int(e.server) == s {
			w.bad("I8: server %d does %s twice", s, o.Name)
		}
	}
	w.seen.ended = append(w.seen.ended, ended{name: o.Name, server: int8(s), at: srv.last, clean: srv.starts == 0,
		lost: o.Work == Mark && srv.listed != o.Number})
	srv.names = append(srv.names, Named{o.Name, []byte("found")})
}

// settle has servers do what nobody can see the time of: they apply rounds whose norms all servers have.
func (w *world) settle() {
	for s := 0; s < simServers; s++ {
		if w.applies(s) {
			w.servers[s].round++
			s = -1
		}
	}
}

// waits says that an order is left for later, since another goes first: when nothing more can go wrong, orders that are
// there to be answered are answered in the servers' order, unless the scenario is thorough.
func (w *world) waits(i int) bool {
	if w.thorough || w.left != [3]int8{} {
		return false
	}
	return slices.ContainsFunc(w.orders, func(o simOrder) bool {
		return o.to < w.orders[i].to && !w.servers[o.to].down && !w.servers[o.to].busy() && !o.late
	})
}

// busy says that a server leaves orders without an answer, since it waits for something.
func (s *simServer) busy() bool {
	return s.f.busy.Work != "" || s.f.number != 0 && s.f.state == settling
}

// order brings an order to its server; again leaves it on its way. Server 0 ends after so much of what follows, unless
// that is -1.
func (w *world) order(i int, again bool, ends int) bool {
	o := w.orders[i]
	s := int(o.to)
	if w.servers[s].down || again && o.late {
		return false
	}
	over := w.servers[s].f.over
	a, begin := w.follower(s).Order(o.o)
	switch {
	case begin == Hold && o.o.Number <= over:
		w.bad("I2: server %d holds cut %d anew, which is over", s, o.o.Number)
	case begin == Free:
		w.remove(s, o.o.Number)
	case begin != "" && (w.fast || begin != Write) && !(begin == Reach && w.servers[s].f.plan.Has(Read)) && w.perform(s, false):
		a, _ = w.follower(s).Order(o.o)
	}
	if a == nil {
		return !again
	}
	if again {
		w.orders[i].late = true
	} else {
		w.orders = slices.Delete(w.orders, i, i+1)
	}
	switch {
	case o.life != w.life || w.leader == nil: // who asked is no more
	case w.slow:
		w.answers = append(w.answers, simAnswer{o, a})
	default:
		w.lead().Answered(s, a)
		w.run(ends)
	}
	return true
}

func (w *world) answered(i int) bool {
	a := w.answers[i]
	w.answers = slices.Delete(w.answers, i, i+1)
	w.lead().Answered(int(a.to), a.a)
	w.run(-1)
	return true
}

// orderLast brings an order to a server that ends when it has done it.
func (w *world) orderLast(i int) bool {
	o := w.orders[i]
	if o.to == 0 || w.servers[o.to].down {
		return false
	}
	life := w.life
	w.life = -1 // nobody takes the answer
	done := w.order(i, false, -1)
	w.life = life
	if done && !o.late && !slices.Contains(w.orders, o) {
		w.orders = append(w.orders, o)
	}
	return done && w.kill(int(o.to), false)
}

// commit commits the parts that are written, or fails to.
func (w *world) commit(err error) bool {
	if w.seal == nil || w.leader == nil {
		return false
	}
	n := w.seal.Number
	w.seal = nil
	if err == nil {
		w.seals(n)
	}
	w.lead().Sealed(n, err)
	w.run(-1)
	return true
}

// seals has a checkpoint whole.
func (w *world) seals(number uint64) {
	w.seen.whole = append(w.seen.whole, number)
	file, parts := w.file(number), []vec(nil)
	for s := range w.servers {
		for _, f := range w.servers[s].files {
			if f.number == file {
				parts = append(parts, f.steps)
			}
		}
	}
	if len(parts) != simServers {
		w.bad("I10: checkpoint %d is whole with %d parts", number, len(parts))
		return
	}
	w.same("I6: a checkpoint", parts...)
}

// kill ends a server. Messages that it has sent may be lost with it.
func (w *world) kill(s int, lose bool) bool {
	srv := &w.servers[s]
	if srv.down {
		return false
	}
	srv.down, srv.f, srv.listed, srv.image = true, nil, 0, vec{}
	for v := range srv.last {
		if w.rounds {
			srv.last[v] = min(srv.last[v], srv.round)
		}
	}
	w.seen.orphans = true
	if s > 0 {
		for i := len(w.answers) - 1; i >= 0 && lose; i-- {
			if a := w.answers[i]; int(a.to) == s {
				w.answers = slices.Delete(w.answers, i, i+1)
				w.orders = append(w.orders, a.simOrder)
			}
		}
		return true
	}
	w.leader, w.seal, w.declaring, w.answers = nil, nil, -1, nil
	w.life++
	w.orders = slices.DeleteFunc(w.orders, func(o simOrder) bool { return !o.late })
	for v := range w.workers {
		w.workers[v].told = nil
	}
	return true
}

// killBehind ends server 0, whose order comes later still.
func (w *world) killBehind(i int) bool {
	if w.orders[i].late {
		return false
	}
	w.orders[i].late = true
	w.left[budgetTwice]--
	return w.kill(0, false)
}

// restart starts a server again, with its journal.
func (w *world) restart(s int) bool {
	srv := &w.servers[s]
	if !srv.down {
		return false
	}
	srv.down, srv.f = false, &Follower{}
	srv.starts++
	for _, n := range srv.names {
		srv.f.Recall(n)
	}
	if s > 0 {
		return true
	}
	w.leader = NewLeader(simServers)
	for _, r := range w.records {
		w.leader.Recall(r)
	}
	if n, plan := w.leader.Resume(); n > 0 {
		srv.f.Resume(n, plan)
	}
	w.run(-1)
	return true
}

func (w *world) killWorker(v int) bool {
	k := &w.workers[v]
	if k.down || k.left {
		return false
	}
	k.down, k.told, k.call = true, nil, over
	return true
}

// declare has server 0 begin to take a worker that is dead out of the job.
func (w *world) declare() bool {
	if w.leader == nil || w.declaring >= 0 || w.leader.Irrevocable() {
		return false
	}
	for v := range w.workers {
		if w.workers[v].down && !w.servers[0].gone[v] {
			w.declaring = int8(v)
			w.lead().Dying()
			w.leader.Gone(v, "it is dead")
			w.run(-1)
			return true
		}
	}
	return false
}

// takeOut has a server let everything go on without the worker that is declared dead, server 0 last.
func (w *world) takeOut(s int) bool {
	v := w.declaring
	if v < 0 || w.servers[s].down || w.servers[s].gone[v] || s == 0 && !(w.servers[1].gone[v] && w.servers[2].gone[v]) {
		return false
	}
	w.servers[s].gone[v] = true
	if s == 0 {
		w.declaring = -1
		w.lead().Died()
		w.run(-1)
	}
	return true
}

// rejoin begins another life of the first worker, which asks for the same.
func (w *world) rejoin() bool {
	k := &w.workers[0]
	if w.rounds || !k.down || k.lives > 0 || w.leader == nil || w.leader.Irrevocable() || w.declaring == 0 {
		return false
	}
	w.lead().Gone(0, "another process is in its place")
	w.run(-1)
	*k = simWorker{lives: 1, ask: Ask{ID: "call-0-again", Task: taskOf(w.plans[0]...)}}
	for s := range w.servers {
		w.servers[s].gone[0] = false
	}
	return true
}

// leaves has a worker stop that has nothing to do any more.
func (w *world) leaves(v int) bool {
	k := &w.workers[v]
	if k.down || k.left || k.call == asks || w.leader == nil || !w.settled(v) {
		return false
	}
	k.left, k.call = true, over
	for s := range w.servers {
		w.servers[s].gone[v] = true
	}
	w.lead().Gone(v, "it has stopped")
	w.run(-1)
	return true
}

func (w *world) givesUp(v int) bool {
	k := &w.workers[v]
	if k.down || k.call != asks || k.ask.GivesUp {
		return false
	}
	k.ask.GivesUp = true
	return true
}

// unreachable has server 0 give up to tell a server.
func (w *world) unreachable(s int) bool {
	if w.leader == nil || w.leader.cut == nil || w.leader.cut.owes[s] == "" {
		return false
	}
	w.lead().Unreachable(s, errFault)
	w.run(-1)
	w.seen.orphans = true
	return true
}

func (w *world) report() {
	last, under := w.leader.Report()
	for s := range w.servers {
		w.reports = append(w.reports, simReport{int8(s), last, under})
	}
}

func (w *world) reported(i int) bool {
	r := w.reports[i]
	w.reports = slices.Delete(w.reports, i, i+1)
	if !w.servers[r.to].down {
		w.follower(int(r.to)).Report(r.last, r.under)
	}
	return true
}
