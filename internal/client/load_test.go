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

// TestTornLoadsEndTheJob: a worker that loses the way to a server while all are to take a model has the others go back, since nobody can say
// which server has it; before that, and behind it, it has harmed nobody.
func TestTornLoadsEndTheJob(t *testing.T) {
	for lost, back := range map[int64]bool{1: false, 2: true, 3: true, 9: false} {
		synctest.Test(t, func(t *testing.T) {
			j := newJob(t, 2, 1, strategy.Sync())
			j.serve(0, 1)
			var loads atomic.Int64
			c, th, err := loaded(t, j, &tap{later: func(endpoint string, h wire.Header) error {
				if endpoint == j.endpoints[0] {
					return nil
				}
				if h.Op == wire.OpLoad {
					loads.Add(1)
				}
				if loads.Load() >= lost {
					return errors.New("the way is cut")
				}
				return nil
			}})
			if over := lost > 3; (err == nil) != over {
				t.Errorf("message %d: error %v", lost, err)
			} else if over {
				th.train(1, []uint64{3}, nil)
				check(t, errors.Join(th.Close(t.Context()), c.Leave(t.Context())))
			}
			c.Close()
			j.serving.Wait()
			if went := errors.Is(errors.Join(j.errs...), wire.ErrWentBack); went != back {
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
		c := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
			if h.Op == wire.OpLoad {
				cancel()
			}
			return nil
		}})
		th, dir := open(t, c), t.TempDir()
		th.train(1, []uint64{3}, nil)
		check(t, c.Save(t.Context(), dir))
		if err := c.Load(ctx, dir, checkpoint.Selection{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		th.train(1, []uint64{3}, nil)
		check(t, c.drain(t.Context()))
		all(t, "weights", th.peek(3), -2)
		check(t, errors.Join(th.Close(t.Context()), c.Leave(t.Context())))
	})
}
