package trial

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// ErrPulled is the error of a worker's calls after its cable was pulled.
var ErrPulled = errors.New("the cable is pulled")

// Hasty returns a strategy that detects dead workers soon, in real time.
func Hasty(s strategy.Strategy) strategy.Strategy {
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(400*time.Millisecond),
		strategy.Duration(20*time.Millisecond)
	return s
}

// Another returns another process that takes a role.
func Another(f *fleet.Fleet, net transport.Transport) (*fleet.Fleet, error) {
	role := rolemaker.UserDefined{Role: rolemaker.Worker, WorkerNum: f.WorkerNum(),
		ServerEndpoints: f.ServerEndpoints()}
	role.CurrentID = f.WorkerIndex()
	if f.IsServer() {
		role.Role, role.CurrentID = rolemaker.Server, f.ServerIndex()
	}
	return fleet.New(context.Background(), role, fleet.Options{Transport: net})
}

// OnNetwork plays a role as another process, on a network of its own.
func OnNetwork(ctx context.Context, f *fleet.Fleet, net transport.Transport, play fleettest.Program) error {
	own, err := Another(f, net)
	if err != nil {
		return err
	}
	defer own.Close()
	return play(ctx, own)
}

// NoErrors has a test fail for each role that has ended with an error.
func NoErrors(t testing.TB, ends map[string]error) {
	t.Helper()
	for role, err := range ends {
		if err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// Cable is one role's transport. Pulled, it delivers only messages to the endpoint Left, as if the machine had gone.
type Cable struct {
	transport.Transport
	Left   string // an endpoint; none if empty
	Pulled atomic.Bool

	mu        sync.Mutex
	listeners []transport.Listener
	still     time.Time // the process stands still until then
}

// Listen implements [transport.Transport].
func (c *Cable) Listen(endpoint string) (transport.Listener, error) {
	l, err := c.Transport.Listen(endpoint)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = append(c.listeners, l)
	}
	return door{l, c}, err
}

// door is a process's listener, which stands still with it.
type door struct {
	transport.Listener
	c *Cable
}

// Serve implements [transport.Listener].
func (d door) Serve(h transport.Handler) error { return d.Listener.Serve(d.stands(h)) }

// HandleReads is what [transport.HandleReads] calls.
func (d door) HandleReads(h transport.Handler) { transport.HandleReads(d.Listener, d.stands(h)) }

// stands has a handler wait while the process stands still.
func (d door) stands(h transport.Handler) transport.Handler {
	return func(req []byte, reply *transport.Reply) {
		_ = d.c.stand(context.Background())
		h(req, reply)
		_ = d.c.stand(context.Background())
	}
}

// Pause has the process stand still: for so long nothing comes from it or to it.
func (c *Cable) Pause(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.still = time.Now().Add(d)
}

// stand waits while the process stands still.
func (c *Cable) stand(ctx context.Context) error {
	c.mu.Lock()
	rest := time.Until(c.still)
	c.mu.Unlock()
	if rest <= 0 {
		return nil
	}
	select {
	case <-time.After(rest):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill ends the process at this end of the cable as kill -9 does: it sends nothing more, and its port is closed.
func (c *Cable) Kill() {
	c.Pulled.Store(true)
	now, cancel := context.WithCancel(context.Background())
	cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.listeners {
		_ = l.Close(now) // requests under way break
	}
}

// Call implements [transport.Transport].
func (c *Cable) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if c.Pulled.Load() && endpoint != c.Left {
		return ErrPulled
	}
	if err := c.stand(ctx); err != nil {
		return err
	}
	return c.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if err := c.stand(ctx); err != nil {
			return err
		}
		return read(body)
	})
}

// half is a worker's transport that, once cut, delivers one push to one server, and no answer.
type half struct {
	transport.Transport
	only    string
	cut     atomic.Bool
	once    sync.Once
	pushing sync.WaitGroup
}

func (h *half) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if !h.cut.Load() {
		return h.Transport.Call(ctx, endpoint, req, read)
	}
	if push := bytes.Join(req, nil); endpoint == h.only && len(push) > 1000 {
		h.once.Do(func() {
			h.pushing.Go(func() {
				_ = h.Transport.Call(context.WithoutCancel(ctx), endpoint, [][]byte{push},
					func([]byte) error { return nil })
			})
		})
	}
	return ErrPulled
}

// DieHalfway runs a worker that trains two steps of the toy and sends the push of a third to one server only.
func DieHalfway(ctx context.Context, f *fleet.Fleet, net transport.Transport, rule optimizer.Rule, s strategy.Strategy,
	reached int) error {
	h := &half{Transport: net, only: f.ServerEndpoints()[reached]}
	own, err := Another(f, h)
	if err != nil {
		return err
	}
	defer h.pushing.Wait()
	defer own.Close()
	return Training{Rule: rule, Strategy: s, To: 2, Ahead: true, After: func(ctx context.Context, _ *fleet.Fleet,
		o *Toy) error {
		s, err := o.OpenSession()
		if err != nil {
			return err
		}
		st, batch := o.Step(Samples(8, 2), nil), Samples(8, 2)
		return Step(ctx, s, st, func() {
			o.Gradients(st, batch)
			h.cut.Store(true)
		})
	}}.Run(ctx, own)
}
