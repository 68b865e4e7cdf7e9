package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestAPushReachesAllServersBeforeItsWorkerSaves: the context of a step ends when one server has the push and the other, to which the line
// is broken, has not. Where checkpoints are saved the push still reaches it, so that a checkpoint, which the worker then saves, need not wait
// for a step that never comes. Elsewhere the step is given up at once.
func TestAPushReachesAllServersBeforeItsWorkerSaves(t *testing.T) {
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeSSP, strategy.ModeHalfAsync} {
		for _, saves := range []bool{true, false} {
			t.Run(string(mode), func(t *testing.T) {
				dir := ""
				if saves {
					dir = t.TempDir()
				}
				synctest.Test(t, func(t *testing.T) { endWithinAPush(t, mode, dir) })
			})
		}
	}
}

func endWithinAPush(t *testing.T, mode strategy.Mode, dir string) {
	j := newJob(t, 2, 1, strategy.Strategy{Mode: mode, Recovery: strategy.Recovery{Dir: dir}})
	j.serve(0, 1)
	ctx, end := context.WithCancel(t.Context())
	broken := time.Time{}
	c := j.join(0, &tap{Transport: j.net, before: func(to string, h wire.Header) error {
		switch {
		case h.Op != wire.OpStep || h.Seq == 0 || to != j.endpoints[1]:
			return nil
		case broken.IsZero():
			broken = time.Now()
			time.AfterFunc(100*time.Millisecond, end)
		}
		if time.Since(broken) < 200*time.Millisecond {
			return errors.New("the line is broken")
		}
		return nil
	}})
	th := open(t, c)
	st := th.step(-1, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, nil)
	check(t, th.Begin(ctx, st))
	err := errors.Join(th.End(ctx, st), ctx.Err())
	if saves := dir != ""; c.Counts().Steps == 1 != saves {
		t.Errorf("%d steps were acknowledged, error %v", c.Counts().Steps, err)
	}
	if dir == "" {
		return
	}
	began := time.Now()
	check(t, c.Checkpoint(t.Context(), func() checkpoint.Progress { return checkpoint.Progress{} },
		none))
	if took := time.Since(began); took > time.Second {
		t.Errorf("a checkpoint took %v", took)
	}
	all(t, "what was pushed", th.peek(1, 2), 1)
	check(t, th.Close(t.Context()))
	check(t, c.Leave(t.Context()))
}
