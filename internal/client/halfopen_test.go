package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// halfOpen has a transport of which a server takes requests and answers none, for as long as it is switched on.
type halfOpen struct {
	transport.Transport
	silent *transporttest.Faulty
	server int
	mu     sync.Mutex
	ops    map[wire.Op]bool // nil: none
}

func newHalfOpen(j *job) *halfOpen {
	return &halfOpen{Transport: j.net, silent: transporttest.NewFaulty(j.net, 1, transporttest.Faults{HalfOpen: 1}),
		server: 1}
}

// answerNone begins the silence, for requests of these ops.
func (h *halfOpen) answerNone(ops ...wire.Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = map[wire.Op]bool{}
	for _, op := range ops {
		h.ops[op] = true
	}
}

func (h *halfOpen) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	var f wire.Frame
	var head []byte
	for _, part := range req {
		head = append(head, part...)
	}
	if err := f.Parse(head); err != nil {
		return err
	}
	h.mu.Lock()
	silent := endpoint == fmt.Sprintf("server-%d:1", h.server) && h.ops[f.Op]
	h.mu.Unlock()
	if silent {
		return h.silent.Call(ctx, endpoint, req, read)
	}
	return h.Transport.Call(ctx, endpoint, req, read)
}

// TestPausedServerIsAwaited: a server with a journal is waited for as long as one that has ended, also where it takes requests and answers
// none, as the system does for a process that is stopped.
//
// Promise: [G6] a server that is paused is waited for like one that died
func TestPausedServerIsAwaited(t *testing.T) {
	s := strategy.Async()
	s.WorkerTimeout = strategy.Duration(30 * time.Second)
	s.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, s)
		j.serve(0, 1)
		net := newHalfOpen(j)
		c, other := j.join(0, net), j.join(1, nil)
		th := open(t, c)
		net.answerNone(wire.OpStep, wire.OpHeartbeat)
		time.AfterFunc(4*s.WorkerTimeout.Std(), func() { net.answerNone() })
		st := th.step(1, []uint64{1, 2, 3, 4}, nil)
		check(t, th.Begin(t.Context(), st))
		check(t, th.End(t.Context(), st))
		check(t, th.Close(t.Context()))
		check(t, c.Leave(t.Context()))
		check(t, other.Leave(t.Context()))
	})
}

// TestHalfOpenServers: a server that takes requests and answers none costs the worker timeout, not the wait timeout, whatever
// it is asked.
func TestHalfOpenServers(t *testing.T) {
	patient := strategy.Sync()
	patient.WorkerTimeout, patient.WaitTimeout = strategy.Duration(30*time.Second), strategy.Duration(24*time.Hour)
	everything := []wire.Op{wire.OpStep, wire.OpPeek, wire.OpPark, wire.OpLeave, wire.OpHeartbeat}
	for name, tt := range map[string]struct {
		silent []wire.Op
		before bool // the worker has not joined
		server int  // 0 for server 1, -1 for server 0
		call   func(ctx context.Context, c *Client, th *thread) error
	}{
		"hello": {[]wire.Op{wire.OpHello}, true, 0, func(ctx context.Context, c *Client, _ *thread) error { return c.Join(ctx) }},
		"leave": {everything, false, 0, func(ctx context.Context, c *Client, _ *thread) error { return c.Leave(ctx) }},
		"step": {everything, false, 0, func(ctx context.Context, _ *Client, th *thread) error {
			return th.Begin(ctx, th.step(1, []uint64{1, 2, 3, 4}, nil))
		}},
		"park": {everything, false, 0, func(ctx context.Context, c *Client, _ *thread) error { return c.EndEpoch(ctx) }},
		"save": {append(everything, wire.OpCut), false, -1, func(ctx context.Context, c *Client, _ *thread) error { return c.Save(ctx, t.TempDir()) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 1, patient)
				j.serve(0, 1)
				net := newHalfOpen(j)
				net.server += tt.server
				c := j.client(0, net)
				var th *thread
				if !tt.before {
					check(t, c.Join(t.Context()))
					th = open(t, c)
				}
				net.answerNone(tt.silent...)
				began := time.Now()
				err := tt.call(t.Context(), c, th)
				if took := time.Since(began); err == nil || took > 3*patient.WorkerTimeout.Std() {
					t.Errorf("after %v: error %v, want one within three worker timeouts", took, err)
				}
			})
		})
	}
}
