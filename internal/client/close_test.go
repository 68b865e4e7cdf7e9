package client

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestClosingWithAnEndedContext ends a worker's context while its servers answer nothing, as an interrupt of the whole job does: its
// session and its client are closed at once, in every mode, and what is queued is dropped.
func TestClosingWithAnEndedContext(t *testing.T) {
	for _, m := range strategy.Modes() {
		t.Run(string(m), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Strategy{Mode: m})
				j.serve(0)
				net := &deaf{Transport: j.net}
				c := j.join(0, net)
				th := open(t, c)
				th.train(1, []uint64{1}, nil)
				synctest.Wait()
				net.deaf.Store(true)
				ctx, interrupt := context.WithTimeout(t.Context(), time.Second)
				defer interrupt()
				st := th.step(1, []uint64{1}, nil)
				_ = th.Begin(ctx, st) // in some modes these wait, until the interrupt
				_ = th.End(ctx, st)
				<-ctx.Done()
				start := time.Now()
				_ = th.Close(ctx)
				_ = c.Leave(ctx)
				if took := time.Since(start); took > time.Second {
					t.Errorf("closing took %v after the interrupt", took)
				}
			})
		})
	}
}

// deaf is a network on which, from some time on, no answer comes.
type deaf struct {
	transport.Transport
	deaf atomic.Bool
}

func (d *deaf) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if d.deaf.Load() {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return d.Transport.Call(ctx, endpoint, req, read)
}
