package trial

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// Streets are the connections between the roles of a job, some of which may be cut: requests on them get no answer.
type Streets struct {
	mu  sync.Mutex
	cut map[[2]string]bool
}

// Cut cuts the connection between two roles, in both directions, or restores it.
func (s *Streets) Cut(one, other string, cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut == nil {
		s.cut = map[[2]string]bool{}
	}
	s.cut[[2]string{one, other}], s.cut[[2]string{other, one}] = cut, cut
}

func (s *Streets) isCut(one, other string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut[[2]string{one, other}]
}

// From returns the network as seen by the process with a name, by which its connections are cut; servers are the
// servers' endpoints.
func (s *Streets) From(name string, below transport.Transport) transport.Transport {
	return &street{Transport: below, from: name, all: s}
}

type street struct {
	transport.Transport
	from string
	all  *Streets
}

// Call implements [transport.Transport].
func (s *street) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	to := strings.ReplaceAll(strings.TrimSuffix(endpoint, ":1"), "-", " ")
	lost := func() error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if s.all.isCut(s.from, to) {
		return lost()
	}
	return s.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if s.all.isCut(s.from, to) {
			return lost()
		}
		return read(body)
	})
}

// Ghost records the last messages of a process, which are sent again when it is dead.
type Ghost struct {
	transport.Transport

	mu   sync.Mutex
	last []message
}

type message struct {
	at       time.Time
	endpoint string
	body     []byte
}

// compare orders messages by time, and messages of one moment by name.
func (m message) compare(other message) int {
	name := func(m message) string { return m.endpoint + NameOf([][]byte{m.body}) }
	return cmp.Or(m.at.Compare(other.at), strings.Compare(name(m), name(other)))
}

const remembered = 12

// Call implements [transport.Transport].
func (g *Ghost) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	g.mu.Lock()
	if g.last = append(g.last, message{time.Now(), endpoint, bytes.Join(req, nil)}); len(g.last) > 2*remembered {
		g.last = g.last[1:]
	}
	g.mu.Unlock()
	return g.Transport.Call(ctx, endpoint, req, read)
}

// Haunt sends the last messages again, with a short pause between them, and waits for answers until ctx ends, or for
// some seconds.
func (g *Ghost) Haunt(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	g.mu.Lock()
	all := g.last
	g.last = nil
	g.mu.Unlock()
	slices.SortFunc(all, message.compare)
	all = all[max(0, len(all)-remembered):]
	var under sync.WaitGroup
	defer under.Wait()
	for _, m := range all {
		under.Go(func() {
			_ = g.Transport.Call(ctx, m.endpoint, [][]byte{m.body}, func([]byte) error { return nil })
		})
		select {
		case <-time.After(3 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
