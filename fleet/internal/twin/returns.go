package twin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
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
func (l Leg) returns() bool { return len(l.Returns) > 0 }

// mayReturn says whether it is known what comes of that: where the order of pushes decides all are of one server. One
// that comes back does not know what its workers had pulled, and compensates no gradient for it.
func (l Leg) mayReturn() bool {
	return l.Servers > 0 && (!l.ordered() || l.Servers == 1) && l.Strategy.DelayCompensation == 0
}

// drawReturns has servers of some legs killed, and come back from their journals.
func (p *Program) drawReturns(r *rand.Rand) {
	for i := range p.Legs {
		l := &p.Legs[i]
		if often(r, 2) || !l.mayReturn() {
			continue
		}
		l.Strategy.Recovery.Journal = pick(r, strategy.JournalProcess, strategy.JournalProcess, strategy.JournalMachine)
		l.Strategy.Recovery.Every = strategy.Duration(pick(r, 0, 0, 200*time.Millisecond))
		for range 1 + r.IntN(3) {
			l.Returns = append(l.Returns, Return{Server: r.IntN(l.Servers), After: 1 + r.IntN(1+r.IntN(60)),
				Taken: often(r, 2), For: pick(r, 100*time.Millisecond, 3*time.Second, 20*time.Second)})
		}
	}
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
		p := &life{cable: &trial.Cable{Transport: network}, keep: func() journal { return r.journal(i, m.CurrentID) }}
		own, end := context.WithCancel(ctx)
		p.end = end
		network.begins(m.CurrentID, p)
		if err := p.play(own, &role{run: r, l: l, leg: i}, m); !errors.Is(err, errKilled) {
			return err
		}
		select {
		case <-time.After(p.away):
		case <-ctx.Done():
			return nil
		}
	}
}

// errKilled is why a process that was killed ends.
var errKilled = errors.New("killed")

// life is a process of a server.
type life struct {
	cable  *trial.Cable
	end    context.CancelFunc
	keep   func() journal
	once   sync.Once
	killed atomic.Bool
	kept   journal       // as it is when the process is killed
	away   time.Duration // until it is started again
}

// kill ends the process as kill -9 does.
func (p *life) kill() {
	p.once.Do(func() {
		p.killed.Store(true)
		p.cable.Pulled.Store(true) // what it asks of others reaches them no more
		p.kept = p.keep()
		p.cable.Kill()
		p.end()
	})
}

// play plays the server until it ends or is killed. One that was killed when its work was done has nothing to come back
// to.
func (p *life) play(ctx context.Context, as *role, m rolemaker.RoleMaker) error {
	defer p.end()
	f, err := fleet.New(ctx, m, fleet.Options{Transport: p.cable, Logger: as.log.Logger()})
	if err == nil {
		as.f = f
		err = as.play(ctx)
		f.Close()
	}
	if err == nil || !p.killed.Load() {
		return err
	}
	p.kill() // waits for who does
	if err := p.kept.put(); err != nil {
		return err
	}
	return errKilled
}

// journals is where servers of a leg keep them.
func (r *run) journals(leg int) string { return filepath.Join(r.dir, fmt.Sprintf("journals-%d", leg)) }

// journal are the files of a server's journal as they are at a moment.
type journal struct {
	pattern string
	files   map[string][]byte
	err     error
}

// journal reads them while the process goes on, so again until it has begun or removed none of them meanwhile.
func (r *run) journal(leg, server int) journal {
	j := journal{pattern: filepath.Join(r.journals(leg), fmt.Sprintf("server-%d-*", server))}
	names, err := filepath.Glob(j.pattern)
	for before := []string(nil); err == nil && !slices.Equal(before, names); {
		before, j.files, j.err = names, map[string][]byte{}, nil
		for _, name := range names {
			data, err := os.ReadFile(name)
			j.files[name], j.err = data, errors.Join(j.err, err)
		}
		names, err = filepath.Glob(j.pattern)
	}
	j.err = errors.Join(j.err, err)
	return j
}

// put makes the journal what it was.
func (j journal) put() error {
	now, err := filepath.Glob(j.pattern)
	err = errors.Join(j.err, err)
	for _, name := range now {
		err = errors.Join(err, os.Remove(name))
	}
	for name, data := range j.files {
		err = errors.Join(err, os.WriteFile(name, data, 0o600))
	}
	return err
}
