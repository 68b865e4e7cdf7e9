package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// loaded makes steps, saves, makes more of them and loads what was saved, over a network that tap looks at from then on.
func loaded(t *testing.T, j *job, tap *tap) (*Client, *thread, error) {
	t.Helper()
	tap.Transport = j.net
	c := j.join(0, tap)
	th, dir := open(t, c), t.TempDir()
	th.train(1, []uint64{3, 4, 5}, nil)
	check(t, errors.Join(c.drain(t.Context()), c.Save(t.Context(), dir)))
	th.train(1, []uint64{3, 4, 6}, nil)
	tap.before, tap.after = tap.later, tap.afterwards
	return c, th, c.Load(t.Context(), dir, checkpoint.Selection{})
}

// TestMessagesOfALoadComeTwice, each of them: the weights are what was saved, and training goes on.
func TestMessagesOfALoadComeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, strategy.Sync())
		j.serve(0, 1)
		c, th, err := loaded(t, j, &tap{afterwards: func(string, wire.Header) error { return nil }})
		check(t, err)
		all(t, "what was loaded", th.peek(3, 4, 5), -1)
		all(t, "a row that was not there", th.peek(6)[24:], 0)
		th.train(1, []uint64{3, 4, 5}, nil)
		all(t, "what was trained since", th.peek(3, 4, 5), -2)
		check(t, errors.Join(th.Close(t.Context()), c.Leave(t.Context())))
	})
}

// TestALoadOutlivesItsWorker: a worker loses the way to its servers at each message of a load. Servers have loaded all
// or nothing, so that nobody goes back.
func TestALoadOutlivesItsWorker(t *testing.T) {
	for _, lost := range []int64{1, 2, 9} {
		synctest.Test(t, func(t *testing.T) {
			j := newJob(t, 2, 1, strategy.Sync())
			j.serve(0, 1)
			var asked atomic.Int64
			c, th, err := loaded(t, j, &tap{later: func(_ string, h wire.Header) error {
				if h.Op == wire.OpCut {
					asked.Add(1)
				}
				if asked.Load() >= lost {
					return errors.New("the way is cut")
				}
				return nil
			}})
			switch lost {
			case 1:
				if err == nil {
					t.Error("nothing is lost, and the way is cut from the first message on")
				}
			case 9: // more than a load has
				check(t, err)
				th.train(1, []uint64{3}, nil)
				check(t, errors.Join(th.Close(t.Context()), c.Leave(t.Context())))
			}
			c.Close()
			j.serving.Wait()
			if errors.Is(errors.Join(j.errs...), wire.ErrWentBack) {
				t.Errorf("message %d: servers ended with %v", lost, j.errs)
			}
		})
	}
}

// TestLoadsGivenUp by their context before anything was taken: pushes go on at once.
func TestLoadsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, strategy.Async())
		j.serve(0, 1)
		ctx, cancel := context.WithCancel(t.Context())
		loads := false
		c := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
			if h.Op == wire.OpCut && loads {
				cancel()
			}
			return nil
		}})
		th, dir := open(t, c), t.TempDir()
		th.train(1, []uint64{3}, nil)
		check(t, c.Save(t.Context(), dir))
		loads = true
		if err := c.Load(ctx, dir, checkpoint.Selection{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		th.train(1, []uint64{3}, nil)
		check(t, c.drain(t.Context()))
		all(t, "weights", th.peek(3), -2)
		check(t, errors.Join(th.Close(t.Context()), c.Leave(t.Context())))
	})
}

// frozenJob is a job of two workers with a frozen param, a directory that has 1 of it, and workers that have 2 since.
func frozenJob(t *testing.T, j *job, way transport.Transport) (both [2]*Client, dir string) {
	t.Helper()
	j.frozen = true
	j.serve(0, 1)
	for w := range both {
		both[w] = j.client(w, way)
	}
	joined := make(chan error)
	go func() { joined <- both[1].Join(t.Context()) }()
	check(t, errors.Join(both[0].Join(t.Context()), <-joined))
	dir = t.TempDir()
	check(t, errors.Join(both[0].SetDense("mean", []float32{1}), both[0].Save(t.Context(), dir)))
	check(t, errors.Join(both[0].SetDense("mean", []float32{2}), both[1].SetDense("mean", []float32{2})))
	return both, dir
}

// mean is a worker's value of the frozen param.
func mean(c *Client) float32 { return c.sessions.Frozen.Values()[0] }

// TestFrozenValuesAfterACancelledLoad: the context of a load ends when its worker asks for frozen values: it has them, since servers
// have loaded.
func TestFrozenValuesAfterACancelledLoad(t *testing.T) {
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), strategy.Geo(4)} {
		synctest.Test(t, func(t *testing.T) {
			j := newJob(t, 2, 2, s)
			ctx, cancel := context.WithCancel(t.Context())
			loads := false
			both, dir := frozenJob(t, j, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
				if loads && h.Op == wire.OpBring {
					cancel()
				}
				return nil
			}})
			loads = true
			check(t, both[0].Load(ctx, dir, checkpoint.Selection{}))
			if got := mean(both[0]); got != 1 || ctx.Err() == nil {
				t.Errorf("%v: the worker that has loaded has %v, and its context ended with %v", s.Mode, got, ctx.Err())
			}
		})
	}
}

// TestFrozenValuesAtARepeatedBarrier: a barrier behind a load ends when a worker asks for frozen values: it has them when it comes to
// the meeting again.
func TestFrozenValuesAtARepeatedBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, strategy.Async())
		ctx, cancel := context.WithCancel(t.Context())
		var meets atomic.Bool
		both, dir := frozenJob(t, j, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
			if meets.Load() && h.Op == wire.OpBring {
				cancel()
			}
			return nil
		}})
		check(t, both[0].Load(t.Context(), dir, checkpoint.Selection{}))
		meets.Store(true)
		met := make(chan error)
		go func() { met <- both[0].Barrier(t.Context()) }()
		if err := both[1].Barrier(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a barrier whose context ended: %v", err)
		}
		check(t, errors.Join(<-met, both[1].Barrier(t.Context())))
		if got := mean(both[1]); got != 1 {
			t.Errorf("behind the barrier the other worker has %v", got)
		}
	})
}

// TestASaveBehindALoad of a worker that has not noticed the load keeps the values that were loaded: its own are older. Of
// one that has noticed, its own count.
func TestASaveBehindALoad(t *testing.T) {
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), strategy.Geo(4)} {
		synctest.Test(t, func(t *testing.T) {
			both, dir := frozenJob(t, newJob(t, 2, 2, s), nil)
			check(t, both[1].Load(t.Context(), dir, checkpoint.Selection{}))
			check(t, both[0].Save(t.Context(), t.TempDir()))
			meet := func() {
				met := make(chan error)
				go func() { met <- both[0].Barrier(t.Context()) }()
				check(t, errors.Join(both[1].Barrier(t.Context()), <-met))
			}
			meet()
			if a, b := mean(both[0]), mean(both[1]); a != 1 || b != 1 {
				t.Errorf("%v: behind the barrier workers have %v and %v, 1 was loaded", s.Mode, a, b)
			}
			now := t.TempDir()
			check(t, errors.Join(both[0].SetDense("mean", []float32{3}), both[0].Save(t.Context(), now)))
			check(t, both[1].Load(t.Context(), now, checkpoint.Selection{}))
			if got := mean(both[1]); got != 3 {
				t.Errorf("%v: a worker that had noticed the load has saved %v, it had 3", s.Mode, got)
			}
		})
	}
}

// TestJoinAfterALoadKeepsOwnUpdates: a worker's next life goes on with its own updates and values at its first barrier: what was loaded
// before it joined is nothing new to it. Its rate is 1 for two updates and 0.125 from then on; the other worker makes none.
func TestJoinAfterALoadKeepsOwnUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, strategy.Geo(100))
		j.rule = optimizer.SGD{Schedule: lr.PiecewiseDecay{Boundaries: []int64{2}, Values: []float64{1, 0.125}}}
		both, dir := frozenJob(t, j, nil)
		check(t, both[0].Load(t.Context(), dir, checkpoint.Selection{}))
		both[1].Close()
		next := j.join(1, nil)
		th := open(t, next)
		check(t, next.SetDense("mean", []float32{3}))
		for range 3 {
			th.train(-1, []uint64{1}, nil)
		}
		met := make(chan error)
		go func() { met <- both[0].Barrier(t.Context()) }()
		check(t, errors.Join(next.Barrier(t.Context()), <-met))
		th.train(-1, []uint64{1}, nil)
		all(t, "behind four updates", th.peek(1)[24:], 2.25)
		if got := mean(next); got != 3 {
			t.Errorf("behind its first barrier a life that has set 3 has %v", got)
		}
	})
}
