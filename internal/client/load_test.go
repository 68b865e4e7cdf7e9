package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
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
