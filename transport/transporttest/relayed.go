package transporttest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// Relayed is a transport over sockets with faulty lines: a [Relay] is in front of each of its listeners, and its calls
// go through it. Endpoints of other listeners are called directly.
type Relayed struct {
	t      transport.Transport
	seed   uint64
	faults LineFaults

	mu     sync.Mutex
	relays map[string]*Relay // by endpoint
	counts map[string]int    // of relays that are closed
}

// NewRelayed puts relays in front of the listeners of t, which must listen on TCP or unix sockets. With TLS, their
// certificate must name 127.0.0.1.
func NewRelayed(t transport.Transport, seed uint64, faults LineFaults) *Relayed {
	return &Relayed{t: t, seed: seed, faults: faults, relays: map[string]*Relay{}, counts: map[string]int{}}
}

// Call implements transport.Transport.
func (r *Relayed) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	r.mu.Lock()
	relay := r.relays[endpoint]
	r.mu.Unlock()
	if relay == nil {
		return r.t.Call(ctx, endpoint, req, read)
	}
	var readErr error
	err := r.t.Call(ctx, relay.Endpoint(), req, func(body []byte) error {
		readErr = read(body)
		return readErr
	})
	if err == nil || readErr != nil {
		return readErr
	}
	return fmt.Errorf("transporttest: call %s through a relay: %w", endpoint, err)
}

// Listen implements transport.Transport.
func (r *Relayed) Listen(endpoint string) (transport.Listener, error) {
	l, err := r.t.Listen(endpoint)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	relay, err := NewRelay(l.Endpoint(), r.seed+uint64(len(r.relays))*golden, r.faults)
	if err != nil {
		_ = l.Close(context.Background())
		return nil, err
	}
	r.relays[l.Endpoint()] = relay
	return &relayedListener{Listener: l, from: r, relay: relay}, nil
}

// Counts returns how many connections had each fault, by the names of the fields of LineFaults.
func (r *Relayed) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]int{}
	add(all, r.counts)
	for _, relay := range r.relays {
		add(all, relay.Counts())
	}
	return all
}

func add(to, counts map[string]int) {
	for name, n := range counts {
		to[name] += n
	}
}

// forget removes an endpoint's relay, so that calls go to the endpoint itself.
func (r *Relayed) forget(endpoint string, relay *Relay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.relays[endpoint] == relay {
		delete(r.relays, endpoint)
		add(r.counts, relay.Counts())
	}
}

// MessageLimit is an optional method of transport.Transport.
func (r *Relayed) MessageLimit() int { return transport.LimitOf(r.t) }

// CloseIdleConnections implements transport.IdleCloser.
func (r *Relayed) CloseIdleConnections() {
	if idle, ok := r.t.(transport.IdleCloser); ok {
		idle.CloseIdleConnections()
	}
}

// relayedListener removes its relay when it is closed.
type relayedListener struct {
	transport.Listener
	from  *Relayed
	relay *Relay
}

// Close implements transport.Listener.
func (l *relayedListener) Close(ctx context.Context) error {
	l.from.forget(l.Endpoint(), l.relay)
	err := l.Listener.Close(ctx)
	if err != nil {
		l.relay.Close()
	} else {
		l.relay.drain(time.Second)
	}
	return err
}
