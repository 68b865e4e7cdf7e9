package client

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestEvaluationIsNoMember has a session that only evaluates beside one that trains, in every mode: it sees what has been trained, and
// training does not wait for it.
func TestEvaluationIsNoMember(t *testing.T) {
	for _, m := range strategy.Modes() {
		t.Run(string(m), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := strategy.Named(string(m))
				check(t, err)
				j := newJob(t, 2, 1, s)
				j.serve(0, 1)
				c := j.join(0, nil)
				training, looking := open(t, c), open(t, c)
				all(t, "weights before training", looking.peek(3), 0)
				for step := range 3 {
					training.train(-1, []uint64{3}, nil)
					check(t, c.settle(t.Context()))
					all(t, "weights beside training", looking.peek(3), float32(step+1))
				}
				check(t, looking.Close(t.Context()))
				check(t, training.Close(t.Context()))
			})
		})
	}
}

// TestALateThreadWaitsForThePush has a thread come to a half-async worker while the others push: it begins with all of the push's answer
// or none.
func TestALateThreadWaitsForThePush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, strategy.HalfAsync())
		j.serve(0, 1)
		arrives := make(chan struct{})
		net := &tap{Transport: j.net, before: func(endpoint string, h wire.Header) error {
			if h.Samples > 0 && endpoint == j.endpoints[1] {
				<-arrives
			}
			return nil
		}}
		c := j.join(0, net)
		first, late := open(t, c), open(t, c)
		check(t, first.Begin(t.Context(), first.step(0, []uint64{3}, nil)))
		var threads sync.WaitGroup
		threads.Go(func() { check(t, first.End(t.Context(), first.step(-1, []uint64{3}, nil))) })
		synctest.Wait() // server 0 has answered, server 1 has not
		began := false
		threads.Go(func() {
			check(t, late.Begin(t.Context(), late.step(0, []uint64{3}, nil)))
			began = true
		})
		synctest.Wait()
		if began {
			t.Error("a thread begins with half a push's answer")
		}
		close(arrives)
		threads.Wait()
		all(t, "weights", late.params[0].W, 1)
		check(t, late.Close(t.Context()))
		check(t, first.Close(t.Context()))
	})
}

// TestEvaluationThenTraining has a session evaluate first: it becomes one that trains with its first training step, and its worker's other sessions may train until
// then.
func TestEvaluationThenTraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Sync())
		j.serve(0)
		c := j.join(0, nil)
		first, second := open(t, c), open(t, c)
		all(t, "weights", second.peek(2), 0)
		first.train(-1, []uint64{2}, nil)
		check(t, first.Close(t.Context()))
		second.train(-1, []uint64{2}, nil)
		all(t, "weights", second.peek(2), 2)
		check(t, second.Close(t.Context()))
	})
}

// TestThreadsSettleTogether: when a step of one thread has ended, those of all that it waited for have handed over what they computed beside
// gradients, and a thread that has gone on hands over no more before the others' next steps.
func TestThreadsSettleTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.HalfAsync())
		j.serve(0)
		c := j.join(0, nil)
		const threads, steps = 3, 4
		begin, opened := make(chan struct{}), sync.WaitGroup{}
		var settled atomic.Int64
		var running sync.WaitGroup
		for thread := range threads {
			opened.Add(1)
			running.Go(func() {
				s := open(t, c)
				for step := range steps {
					check(t, s.Begin(t.Context(), s.step(0, []uint64{3}, nil)))
					if step == 0 {
						opened.Done()
						<-begin // a thread waits for others from their first steps on
					}
					st := s.step(-1, []uint64{3}, nil)
					st.Settle = func() { settled.Add(1) }
					check(t, s.End(t.Context(), st))
					if thread > 0 {
						continue
					}
					for range 2 {
						if n := settled.Load(); n != int64(threads*(step+1)) {
							t.Errorf("%d steps of %d threads have settled %d times", step+1, threads, n)
						}
						time.Sleep(time.Minute) // it measures
					}
				}
				check(t, s.Close(t.Context()))
			})
		}
		opened.Wait()
		close(begin)
		running.Wait()
	})
}
