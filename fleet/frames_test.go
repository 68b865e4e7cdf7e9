package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// scales weigh every message: the largest request and the largest answer.
type scales struct {
	transport.Transport
	request, answer atomic.Int64
}

func (s *scales) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	n := 0
	for _, part := range req {
		n += len(part)
	}
	heavier(&s.request, n)
	return s.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		heavier(&s.answer, len(body))
		return read(body)
	})
}

func heavier(most *atomic.Int64, n int) {
	for old := most.Load(); int64(n) > old && !most.CompareAndSwap(old, int64(n)); old = most.Load() {
	}
}

// TestMaxFrame trains a model whose steps are far larger than MaxFrame, in every mode: no message is.
func TestMaxFrame(t *testing.T) {
	const most = 8192
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			net := &scales{Transport: transport.NewMemory()}
			c := fleettest.Cluster{Servers: 2, Workers: 2, Options: fleet.Options{Transport: net}}
			steps := 3
			if mode == strategy.ModeGeo {
				steps = 60 // whose rows are exchanged together
			}
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				return train(ctx, f, optimizer.SGD{LR: 0.1}, strategy.Strategy{Mode: mode, MaxFrame: most}, steps, nil)
			})
			for what, n := range map[string]int64{"request": net.request.Load(), "answer": net.answer.Load()} {
				if n > most || n < most/2 {
					t.Errorf("the largest %s has %d bytes, the bound is %d", what, n, most)
				}
			}
		})
	}
}

// TestCodec pushes gradients that are all alike: every codec makes little of them, and none leaves them as they are.
func TestCodec(t *testing.T) {
	const n = 10_000
	for _, servers := range []int{0, 1} {
		for _, codec := range strategy.Codecs() {
			t.Run(fmt.Sprintf("%s, %d servers", codec, servers), func(t *testing.T) {
				net := &scales{Transport: transport.NewMemory()}
				c := fleettest.Cluster{Servers: servers, Workers: 2, Options: fleet.Options{Transport: net}}
				c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					counter := newCounter(n)
					trainer, err := counter.join(ctx, f, strategy.Strategy{Mode: strategy.ModeSync, Codec: codec})
					if err != nil || trainer == nil {
						return err
					}
					session, err := trainer.Open(counter.Params())
					if err != nil {
						return err
					}
					return errors.Join(counter.thread(ctx, session, 2), f.StopWorker(ctx))
				})
				small := net.request.Load() < n/2
				if want := codec != "none"; small != want {
					t.Errorf("the largest request has %d bytes, for %d numbers", net.request.Load(), n)
				}
			})
		}
	}
}
