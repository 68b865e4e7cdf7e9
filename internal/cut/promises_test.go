package cut

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// bad notes a promise that is broken.
func (w *world) bad(format string, args ...any) {
	if w.seen.err == nil {
		w.seen.err = fmt.Errorf(format, args...)
	}
}

// wrong is the promise that a world breaks, whatever comes after it.
func (w *world) wrong() error {
	w.checkNumbers()
	w.checkAnchor()
	w.checkCalls()
	return w.seen.err
}

// checkNumbers: one cut at a time, whose number is in the journal.
func (w *world) checkNumbers() {
	led := uint64(0)
	for _, r := range w.records {
		if r.Led != 0 && r.Led <= led {
			w.bad("I2: number %d is led twice", r.Led)
		}
		led = max(led, r.Led)
	}
	beyond := uint64(0)
	for s := range w.servers {
		f := w.servers[s].f
		if f == nil || f.number == 0 {
			continue
		}
		if f.number > led {
			w.bad("I2: server %d holds cut %d, and the journal knows of %d", s, f.number, led)
		}
		if f.state < nearing {
			continue
		}
		if beyond != 0 && beyond != f.number {
			w.bad("I1: servers are in cuts %d and %d", beyond, f.number)
		}
		beyond = f.number
	}
}

// checkAnchor: a cut whose anchor is gone goes on only where it can't be taken back, or is to be written still.
func (w *world) checkAnchor() {
	if w.leader == nil || w.leader.cut == nil {
		return
	}
	c := w.leader.cut
	v := c.ask.Worker
	gone := w.servers[0].gone[v] || w.declaring == int8(v) || w.workers[v].ask.ID != c.ask.ID
	if gone && c.phase < finishing && c.why == nil && !(c.ask.Task.Plan().resumes() && c.stage >= Reached) {
		w.bad("I4: worker %d is gone, and its cut %d goes on", v, c.number)
	}
	if c.phase == finishing && (gone || w.declaring >= 0) {
		w.bad("I5: a worker is taken out of the job while servers do what can't be taken back")
	}
}

// checkCalls: a call does at most once what can't be taken back, and nothing if it fails.
func (w *world) checkCalls() {
	for i, r := range w.records {
		if r.Intent == nil {
			continue
		}
		id := r.Intent.Ask.ID
		for _, o := range w.records[:i] {
			if o.Intent != nil && o.Intent.Ask.ID == id {
				w.bad("I8: %s is done as cut %d and as %d", id, o.Intent.Number, r.Intent.Number)
			}
		}
		for v := range w.workers {
			if k := &w.workers[v]; k.ask.ID == id && k.result != nil {
				w.bad("I10: %s has failed (%v), and is done", id, k.result)
			}
		}
	}
}

// checkWhole: what a worker is told of as whole is, on all servers.
func (w *world) checkWhole(k *simWorker, t Told) {
	if k.ask.Task.Plan().Has(Write) && !slices.Contains(w.seen.whole, t.Number) {
		w.bad("I10: %s is told that checkpoint %d is whole", k.ask.ID, t.Number)
	}
	if final := k.ask.Task.Plan().Final(); final != "" {
		name := fmt.Sprintf("%s-%d", final, t.Number)
		for s := range w.servers {
			if !slices.ContainsFunc(w.servers[s].names, func(n Named) bool { return n.Name == name }) {
				w.bad("I10: %s is told that %s is done, and server %d has not", k.ask.ID, name, s)
			}
		}
	}
}

// unfinished is what a world at rest has left open.
func (w *world) unfinished() error {
	if err := w.checkClosed(); err != nil {
		return err
	}
	if c := w.leader.cut; c != nil || len(w.leader.queue) > 0 {
		return fmt.Errorf("I9: at rest server 0 has cut %+v and a queue of %d", c, len(w.leader.queue))
	}
	for s := range w.servers {
		srv := &w.servers[s]
		if srv.f.Number() != 0 {
			return fmt.Errorf("I9: at rest server %d holds cut %d", s, srv.f.Number())
		}
		if w.closing(s) {
			return fmt.Errorf("I4: at rest server %d waits for the norms of round %d", s, srv.round)
		}
		for _, f := range srv.files {
			if !w.seen.orphans && !slices.Contains(w.seen.whole, f.number) {
				return fmt.Errorf("I10: at rest server %d has its part of checkpoint %d, which is not whole", s, f.number)
			}
		}
	}
	for v := range w.workers {
		if err := w.idle(v); err != nil {
			return err
		}
	}
	return w.ends()
}

// idle says what a worker still waits for.
func (w *world) idle(v int) error {
	k := &w.workers[v]
	switch {
	case k.down || k.left:
		return nil
	case w.plans[v] != nil && k.call != over:
		return fmt.Errorf("I11: at rest %s waits", k.ask.ID)
	case !w.faulty && k.result != nil:
		return fmt.Errorf("I10: nothing went wrong, and %s fails: %v", k.ask.ID, k.result)
	}
	for s := range w.servers {
		if n := w.servers[s].last[v]; int(n) < w.makes[v] {
			return fmt.Errorf("I9: at rest server %d has %d steps of worker %d", s, n, v)
		}
	}
	return nil
}

// ends holds servers to each other: what can't be taken back is done on all, at the same steps unless one was started
// again in between.
func (w *world) ends() error {
	at := map[string][]ended{}
	for _, e := range w.seen.ended {
		at[e.name] = append(at[e.name], e)
	}
	for name, all := range at {
		if len(all) != simServers {
			return fmt.Errorf("I8: at rest %s is done on %d servers", name, len(all))
		}
		var clean []vec
		for _, e := range all {
			if e.lost && e.clean {
				return fmt.Errorf("I8: at rest server %d had nothing listed for %s", e.server, name)
			}
			if e.clean {
				clean = append(clean, e.at)
			}
		}
		if len(clean) > 1 {
			if w.same("I6: "+name, clean...); w.seen.err != nil {
				return w.seen.err
			}
		}
		if strings.HasPrefix(name, "end") && !w.faulty && w.alike() && len(at) != 1 {
			return fmt.Errorf("I1: workers that ended a period at one step have ended %d", len(at))
		}
	}
	return nil
}

// alike says that all workers which ask do so for the same, at one step.
func (w *world) alike() bool { return w.makes == [simWorkers]int{} }

// checkClosed: where the job fails nobody waits for a cut.
func (w *world) checkClosed() error {
	c := w.clone()
	failed := errors.New("the job fails")
	if c.leader != nil {
		c.lead().Close(failed)
		for v := range c.workers {
			ask := c.workers[v].ask
			if t := c.leader.Ask(&ask); t.Err == nil && t.Stage != Whole && c.workers[v].call == asks {
				return fmt.Errorf("I11: the job fails, and %s waits", ask.ID)
			}
		}
	}
	for s := range c.servers {
		if c.servers[s].down {
			continue
		}
		f := c.follower(s)
		f.Close(failed)
		for v := range c.workers {
			if f.Holds(v, 100) {
				return fmt.Errorf("I11: the job fails, and server %d holds worker %d's step", s, v)
			}
		}
		for _, o := range c.orders {
			if int(o.to) != s {
				continue
			}
			if a, _ := f.Order(o.o); a == nil {
				return fmt.Errorf("I11: the job fails, and server %d leaves %s %d without an answer", s, o.o.Work, o.o.Number)
			}
		}
	}
	return nil
}
