package twin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/transport"
)

// Servers with journals may be killed beside the calls of a leg, and come back as they were: what workers see is what
// they see of servers that live, but for what a process counts of itself.

// Return is the death of a server that is started again.
type Return struct {
	Server int
	// After is how many requests have reached the server since training began when it is killed. Taken says that it
	// has taken the last of them, whose answer is lost; else that reaches nobody.
	After int
	Taken bool
	For   time.Duration // until it is started again
}

// returns says whether processes of servers come back from journals.
func (l Leg) returns() bool { return len(l.Returns) > 0 || l.Replaced != nil }

// mayReturn says whether it is known what comes of that: where the order of pushes decides all are of one server. One
// that comes back does not know what its workers had pulled, and compensates no gradient for it.
func (l Leg) mayReturn() bool {
	return l.Servers > 0 && !l.mortal() && (!l.ordered() || l.Servers == 1) && l.Strategy.DelayCompensation == 0
}

// returning is the network of a leg whose servers come back.
type returning struct {
	transport.Transport

	mu      sync.Mutex // guards what follows
	trains  bool
	reached map[int]int // requests by server, since training began
	left    map[int][]Return
	lives   map[int]*life
}

// errRefused is the end of a request that a killed process was about to refuse, whether it has taken it or not.
var errRefused = fmt.Errorf("a process that was killed: %w", transport.ErrUnreachable)

func newReturning(l Leg, network transport.Transport) *returning {
	n := &returning{Transport: network, reached: map[int]int{}, left: map[int][]Return{}, lives: map[int]*life{}}
	for _, d := range l.Returns {
		n.left[d.Server] = append(n.left[d.Server], d)
	}
	return n
}

// begins notes the process of a server.
func (n *returning) begins(server int, p *life) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lives[server] = p
}

// reaches notes a request, and returns the process at its endpoint, nil where that is no server's, and how that dies of
// it.
func (n *returning) reaches(endpoint string, req [][]byte) (p *life, dies *Return) {
	var server int
	if k, _ := fmt.Sscanf(endpoint, "server-%d:1", &server); k == 0 {
		return nil, nil
	}
	f, ok := frameOf(req)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trains = n.trains || ok && f.Op == wire.OpStep
	p, left := n.lives[server], n.left[server]
	if !n.trains || len(left) == 0 || p == nil || p.killed.Load() {
		return p, nil
	}
	if n.reached[server]++; n.reached[server] < left[0].After {
		return p, nil
	}
	n.left[server], n.reached[server] = left[1:], 0
	return p, &left[0]
}

// Call implements [transport.Transport].
func (n *returning) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	p, dies := n.reaches(endpoint, req)
	if dies != nil {
		p.away = dies.For
	}
	if dies != nil && !dies.Taken {
		p.kill()
	}
	err := n.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if dies == nil && (p == nil || !p.killed.Load()) {
			return read(body)
		}
		if f, ok := frameOf([][]byte{body}); ok && f.Refusal() != nil {
			return errRefused
		}
		return fmt.Errorf("the connection to %s broke", endpoint)
	})
	if dies != nil {
		p.kill()
	}
	return err
}

// server plays a server that is killed and comes back until the leg is over.
func (r *run) server(ctx context.Context, i int, l Leg, m rolemaker.UserDefined, network *returning) error {
	for {
		own, p := r.newLife(ctx, m, i, network)
		p.mute = true
		network.begins(m.CurrentID, p)
		var body sync.WaitGroup
		err := p.play(own, &role{run: r, l: l, leg: i}, m, &body)
		body.Wait()
		if !errors.Is(err, errKilled) {
			return err
		}
		select {
		case <-time.After(p.away):
		case <-ctx.Done():
			return nil
		}
	}
}

// journals is where servers of a leg keep them.
func (r *run) journals(leg int) string { return filepath.Join(r.dir, fmt.Sprintf("journals-%d", leg)) }
