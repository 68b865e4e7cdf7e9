package nn

import "sync"

// aside is what a training step does beside its own work, on cores that would wait otherwise: it makes the next batch's
// ids unique, and measures, while the step waits for rows and passes gradients back. A process with one core does the
// same in turn.
type aside struct {
	engine  *engine
	running sync.WaitGroup
	cores   cores // that measure: one
	plan    *plan
	next    *feedBatch
	pays    bool // the start of another core
	// collects and measures are functions of the goroutines, stored so that starting one allocates nothing.
	collects, measures func()
}

func (a *aside) of(e *engine) {
	a.engine = e
	a.collects = func() { a.next.collect(e, a.plan) }
	a.measures = func() {
		for _, s := range a.plan.metrics {
			a.cores.do(s.cells[0])
		}
	}
}

// leastAside is the least number of examples whose ids and metrics are worth another core's start. Tests change it.
var leastAside = 256

// begin collects the ids of the next batch, if there is one and nobody has. It returns that batch if its ids are known.
func (a *aside) begin(p *plan, b, next *feedBatch) *feedBatch {
	a.plan, a.next, a.pays = p, next, a.engine.cores.n > 1 && b.rows >= leastAside
	if next == nil || !next.raw {
		return next
	}
	a.do(a.collects)
	return nil
}

// do does some work, beside the step if there are cores for it.
func (a *aside) do(work func()) {
	if !a.pays {
		work()
		return
	}
	a.running.Go(work)
}

// measure computes the metrics that the step set aside, which change no value of the step's.
func (a *aside) measure() error {
	for _, s := range a.plan.metrics {
		for i := range s.limits {
			if err := s.limits[i].check(s.cells[0].node); err != nil {
				return err
			}
		}
	}
	if len(a.plan.metrics) > 0 {
		a.do(a.measures)
	}
	return nil
}

// end waits until the work is done, tells the step the next batch's ids, and returns the error of an op that panicked.
func (a *aside) end() error {
	a.running.Wait()
	if a.next != nil {
		for _, t := range a.engine.held.tables {
			t.rows.Next = a.next.unique(t)
		}
	}
	return a.cores.err()
}
