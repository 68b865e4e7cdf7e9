package twin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/transport"
)

// A server with a journal may be cut off, and another process of it begin elsewhere with its journal, where no lock
// keeps it out. When all workers have heard of the second the first goes on: what it does counts nowhere, and it ends.

// Replacement is a server of which there are two processes.
type Replacement struct {
	Server int
	After  int           // requests that reach it, from the first gradient on, until it is cut off
	For    time.Duration // until the second begins
	Steps  bool          // steps alone reach the first when it goes on
}

// mayBeReplaced says whether a leg knows what comes of a server with two processes.
func (l Leg) mayBeReplaced() bool { return l.Servers > 0 && !l.mortal() && !l.ordered() }

// contest is the network of a leg in which a place has two processes.
type contest struct {
	transport.Transport
	Replacement
	workers int

	mu            sync.Mutex // guards what follows
	draw          *rand.Rand
	trains        bool
	reached, late int                  // requests until it is cut off, and those that tell the first of the second
	know          map[string]time.Time // when workers have had an answer of the second
	early         map[string]bool      // frames that were made before their workers knew, and may be sent once more
	// cut is closed when the first is cut off, serves when the second listens, goes when the first goes on.
	cut, serves, goes chan struct{}
}

func newContest(l Leg, seed uint64, network transport.Transport) *contest {
	return &contest{Transport: network, Replacement: *l.Replaced, workers: l.Workers, know: map[string]time.Time{},
		early: map[string]bool{}, draw: rand.New(rand.NewPCG(seed, 34)),
		cut: make(chan struct{}), serves: make(chan struct{}), goes: make(chan struct{})}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seat is a role's way to such a network.
type seat struct {
	*contest
	role          string
	first, second bool // it is this process of the place
}

// lockFile names the job that has a directory of checkpoints.
const lockFile = "job.lock"

// secondAt is where the second process listens.
const secondAt = " again"

// Listen implements [transport.Transport].
func (s *seat) Listen(endpoint string) (transport.Listener, error) {
	if !s.second {
		return s.Transport.Listen(endpoint)
	}
	l, err := s.Transport.Listen(endpoint + secondAt)
	if err == nil {
		close(s.serves)
	}
	return l, err
}

// still waits while the first process is cut off. What others wait for from it breaks when the second serves.
func (s *seat) still(ctx context.Context) error {
	if !isClosed(s.cut) || isClosed(s.goes) {
		return nil
	}
	breaks := s.serves
	if s.first {
		breaks = nil
	}
	select {
	case <-s.goes:
		return nil
	case <-breaks:
		return errors.New("the connection broke")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// toSecond says whether a request to the place reaches its second process.
func (s *seat) toSecond(req [][]byte) bool {
	f, ok := frameOf(req)
	step := ok && (f.Op == wire.OpStep || f.Op == wire.OpPiece)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trains = s.trains || step && f.Samples > 0; s.trains && !isClosed(s.cut) {
		if s.reached++; s.reached == s.After {
			close(s.cut)
		}
	}
	since, knows := s.know[s.role]
	frame := behindEnvelope(req)
	if !knows {
		s.early[frame] = true
	}
	switch {
	case !isClosed(s.serves):
		return false
	case isClosed(s.goes) && knows && time.Now().After(since) && (step || !s.Steps) && often(s.draw, 2):
		if !s.early[frame] {
			s.late++
		}
		return false
	}
	return true
}

// hears notes that a role has had an answer of the second process that tells of this run of the job.
func (s *seat) hears(body []byte) {
	f, ok := frameOf([][]byte{body})
	if !strings.HasPrefix(s.role, "worker") || !ok || f.Job == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, knew := s.know[s.role]; !knew {
		s.know[s.role] = time.Now()
	}
	if len(s.know) == s.workers && !isClosed(s.goes) {
		close(s.goes)
	}
}

// Call implements [transport.Transport].
func (s *seat) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	place := endpoint == fmt.Sprintf("server-%d:1", s.Server) && !s.first && !s.second
	if place && s.toSecond(req) {
		return s.Transport.Call(ctx, endpoint+secondAt, req, func(body []byte) error {
			err := read(body)
			s.hears(body)
			return err
		})
	}
	if !place && !s.first {
		return s.Transport.Call(ctx, endpoint, req, read)
	}
	if err := s.still(ctx); err != nil {
		return err
	}
	return s.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if err := s.still(ctx); err != nil {
			return err
		}
		return read(body)
	})
}

// replaced plays both processes of a server.
func (r *run) replaced(ctx context.Context, i int, l Leg, m rolemaker.UserDefined, c *contest) error {
	own, p := r.newLife(ctx, m, i, &seat{contest: c, role: l.roleOf(m), first: true})
	p.keep = nil // the second has the journal then
	var bodies sync.WaitGroup
	defer bodies.Wait()
	first := make(chan error, 1)
	bodies.Go(func() { first <- p.play(own, &role{run: r, l: l, leg: i}, m, &bodies) })
	select {
	case err := <-first:
		return err
	case <-c.cut:
	}
	time.Sleep(c.For)
	locks := []string{filepath.Join(r.journals(i), fmt.Sprintf("server-%d-of-%d.lock", c.Server, l.Servers))}
	if c.Server == 0 {
		locks = append(locks, filepath.Join(r.recovery(i), lockFile))
	}
	for _, lock := range locks {
		if err := os.Remove(lock); err != nil {
			return err
		}
	}
	after, next := r.newLife(ctx, m, i, &seat{contest: c, role: l.roleOf(m), second: true})
	err := next.play(after, &role{run: r, l: l, leg: i}, m, &bodies)
	if !c.told() {
		p.kill()
		return err
	}
	select {
	case was := <-first:
		says := fmt.Sprint(was)
		silence := strings.Contains(says, "silent") || strings.Contains(says, "no word from") // before it was told
		if !silence && !strings.Contains(says, "another process has this server's place") {
			err = errors.Join(err, fmt.Errorf("its first process ends: %v", was))
		}
	case <-time.After(time.Minute):
		p.kill()
		err = errors.Join(err, errors.New("its first process goes on, though requests have told it of the second"))
	}
	return err
}

// told says whether requests have reached the first process when it went on.
func (c *contest) told() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late > 0
}
