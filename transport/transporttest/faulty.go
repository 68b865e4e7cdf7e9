package transporttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// ErrInjected is wrapped by every error that a Faulty injects.
var ErrInjected = errors.New("injected fault")

// Faulty is a transport that injects faults into its calls. Its listeners serve as those of the transport below;
// closing a listener also ends the late messages to it. Late messages to other listeners end with Close.
//
// The faults of a call are a function of the seed, the endpoint, the message's name and the number of earlier messages
// of that name to the endpoint: not of the order in which goroutines run. With a Latency no two calls arrive at the
// same moment, so that in virtual time, such as testing/synctest's, a seed's calls are the same in every run.
type Faulty struct {
	// Name, if set before the first call, names messages; without it a message's name is all its bytes. It is for
	// messages whose content differs from run to run, such as by a process's random number. The goroutine of every call
	// calls it.
	Name func(req [][]byte) string

	t      transport.Transport
	seed   uint64
	faults Faults
	late   lateBox

	mu     sync.Mutex
	times  map[uint64]int           // the number of times that a message was sent
	held   map[string]chan struct{} // closed when a call to the endpoint has been answered
	mute   map[string]time.Time     // the time until which an endpoint is half open
	counts map[string]int
}

// NewFaulty returns a transport that injects faults into calls to t.
func NewFaulty(t transport.Transport, seed uint64, faults Faults) *Faulty {
	return &Faulty{t: t, seed: seed, faults: faults, times: map[uint64]int{}, held: map[string]chan struct{}{},
		mute: map[string]time.Time{}, counts: map[string]int{}}
}

// Counts returns how often each fault happened, by the names of the fields of Faults.
func (f *Faulty) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// Listen implements transport.Transport.
func (f *Faulty) Listen(endpoint string) (transport.Listener, error) {
	l, err := f.t.Listen(endpoint)
	if err != nil {
		return nil, err
	}
	return &lateListener{Listener: l, box: &f.late}, nil
}

// Close ends the late messages that are still under way. It is needed only if the listeners belong to another
// transport.
func (f *Faulty) Close() { f.late.end("") }

// MessageLimit is an optional method of transport.Transport.
func (f *Faulty) MessageLimit() int { return transport.LimitOf(f.t) }

// CloseIdleConnections implements transport.IdleCloser.
func (f *Faulty) CloseIdleConnections() {
	if idle, ok := f.t.(transport.IdleCloser); ok {
		idle.CloseIdleConnections()
	}
}

// Stats implements transport.Metered: the counters of the transport below, without the injected faults.
func (f *Faulty) Stats() transport.Stats {
	if metered, ok := f.t.(transport.Metered); ok {
		return metered.Stats()
	}
	return transport.Stats{}
}

// Call implements transport.Transport.
func (f *Faulty) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	fate := f.draw(endpoint, req)
	if err := travel(ctx, endpoint, fate.there); err != nil {
		return err
	}
	fate = f.meet(endpoint, fate)
	f.late.deliver(ctx, f.t, endpoint, f.faults.maxDelay())
	if fate.late {
		f.late.add(endpoint, req)
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
	case "Drop", "HalfOpen":
		return silence(ctx, endpoint)
	}
	return f.deliver(ctx, endpoint, fate.spoilRequest(req), fate, func(body []byte) error {
		if err := travel(ctx, endpoint, fate.back); err != nil {
			return err
		}
		return fate.spoilAnswer(read)(body)
	})
}

// travel waits for a message's latency.
func travel(ctx context.Context, endpoint string, latency time.Duration) error {
	if latency == 0 {
		return nil
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("transporttest: call %s: on its way: %w", endpoint, context.Cause(ctx))
	}
}

// draw decides on the faults of a call.
func (f *Faulty) draw(endpoint string, req [][]byte) fate {
	message := f.digest(endpoint, req)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times[message]++
	return f.faults.draw(f.seed, message, f.times[message]-1)
}

// meet returns the faults of a call that has come to its endpoint, which may be half open because of another call, and
// counts them.
func (f *Faulty) meet(endpoint string, met fate) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); met.fatal == "HalfOpen" {
		f.mute[endpoint] = now.Add(f.faults.maxDelay())
	} else if now.Before(f.mute[endpoint]) {
		met = fate{fatal: "HalfOpen", late: met.late}
	}
	for _, name := range met.names() {
		f.counts[name]++
	}
	return met
}

// digest is a number for a message to an endpoint.
func (f *Faulty) digest(endpoint string, req [][]byte) uint64 {
	if f.Name != nil {
		return digest(endpoint, []byte(f.Name(req)))
	}
	return digest(endpoint, req...)
}

// hold waits as the call's Delay and Reorder require.
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

// another returns a channel that closes when a call to the endpoint has been answered.
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

// deliver makes the call, once or twice, and drops its answer if fate says so.
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
