package transporttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// ErrInjected is in every error that a Faulty made up.
var ErrInjected = errors.New("injected fault")

// Faulty is a transport whose calls meet faults on their way. Listen, and with it the servers, are left alone.
type Faulty struct {
	t      transport.Transport
	seed   uint64
	faults Faults

	mu     sync.Mutex
	times  map[uint64]int           // how often a message was sent
	held   map[string]chan struct{} // closed when a call to the endpoint has been answered
	late   map[string][][]byte      // messages to an endpoint to be seen once more
	counts map[string]int
}

// NewFaulty puts faults in front of t.
func NewFaulty(t transport.Transport, seed uint64, faults Faults) *Faulty {
	return &Faulty{t: t, seed: seed, faults: faults, times: map[uint64]int{}, held: map[string]chan struct{}{},
		late: map[string][][]byte{}, counts: map[string]int{}}
}

// Counts tells how often each fault happened, by the names of the fields of Faults.
func (f *Faulty) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// Listen implements transport.Transport.
func (f *Faulty) Listen(endpoint string) (transport.Listener, error) { return f.t.Listen(endpoint) }

// MessageLimit implements transport.Limited.
func (f *Faulty) MessageLimit() int {
	if limited, ok := f.t.(transport.Limited); ok {
		return limited.MessageLimit()
	}
	return math.MaxInt
}

// CloseIdleConnections implements transport.IdleCloser.
func (f *Faulty) CloseIdleConnections() {
	if idle, ok := f.t.(transport.IdleCloser); ok {
		idle.CloseIdleConnections()
	}
}

// Call implements transport.Transport.
func (f *Faulty) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	fate, late := f.meet(endpoint, req)
	for _, message := range late {
		_ = f.t.Call(ctx, endpoint, [][]byte{message}, ignore)
	}
	if err := f.hold(ctx, endpoint, fate); err != nil {
		return err
	}
	defer f.answered(endpoint)
	switch fate.fatal {
	case "Refuse":
		return fmt.Errorf("transporttest: call %s: %w: %w", endpoint, transport.ErrUnreachable, ErrInjected)
	case "LoseRequest":
		return broken(endpoint)
	case "Drop":
		return silence(ctx, endpoint)
	}
	if fate.corruptRequest {
		req = [][]byte{flip(join(req), fate.bit)}
	}
	return f.deliver(ctx, endpoint, req, fate, read)
}

// meet decides what happens to a call, and takes what is late for its endpoint.
func (f *Faulty) meet(endpoint string, req [][]byte) (met fate, late [][]byte) {
	message := digest(endpoint, req)
	f.mu.Lock()
	defer f.mu.Unlock()
	met = f.faults.draw(f.seed, message, f.times[message])
	f.times[message]++
	for _, name := range met.names() {
		f.counts[name]++
	}
	late = f.late[endpoint]
	delete(f.late, endpoint)
	if met.late {
		f.late[endpoint] = [][]byte{join(req)}
	}
	return met, late
}

// hold waits as Delay and Reorder say.
func (f *Faulty) hold(ctx context.Context, endpoint string, fate fate) error {
	wait, other := fate.delay, (<-chan struct{})(nil)
	if fate.reorder {
		wait, other = f.faults.maxDelay(), f.another(endpoint)
	}
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-other:
	case <-ctx.Done():
		return fmt.Errorf("transporttest: call %s: %w: held back: %w", endpoint, ErrInjected, context.Cause(ctx))
	}
	return nil
}

// another gives a channel that closes when a call to the endpoint has been answered.
func (f *Faulty) another(endpoint string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[endpoint] == nil {
		f.held[endpoint] = make(chan struct{})
	}
	return f.held[endpoint]
}

func (f *Faulty) answered(endpoint string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if held := f.held[endpoint]; held != nil {
		close(held)
		delete(f.held, endpoint)
	}
}

// deliver makes the call, once or twice, and loses or spoils its answer if it must.
func (f *Faulty) deliver(ctx context.Context, endpoint string, req [][]byte, fate fate, read func([]byte) error) error {
	switch {
	case fate.fatal != "": // LoseAnswer or DropAnswer
		if err := f.t.Call(ctx, endpoint, req, ignore); err != nil {
			return err
		}
		if fate.fatal == "DropAnswer" {
			return silence(ctx, endpoint)
		}
		return broken(endpoint)
	case fate.corruptAnswer:
		return f.t.Call(ctx, endpoint, req, func(body []byte) error {
			return read(flip(append([]byte(nil), body...), fate.bit))
		})
	case fate.duplicate && !fate.firstAnswer:
		_ = f.t.Call(ctx, endpoint, req, ignore)
	}
	err := f.t.Call(ctx, endpoint, req, read)
	if fate.duplicate && fate.firstAnswer {
		_ = f.t.Call(ctx, endpoint, req, ignore)
	}
	return err
}

func ignore([]byte) error { return nil }

func broken(endpoint string) error {
	return fmt.Errorf("transporttest: call %s: %w: the connection broke before the answer", endpoint, ErrInjected)
}

func silence(ctx context.Context, endpoint string) error {
	<-ctx.Done()
	return fmt.Errorf("transporttest: call %s: %w: no answer: %w", endpoint, ErrInjected, context.Cause(ctx))
}
