package session

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/optimizer"
)

// staging holds the dense weights of answers until a step begins with them. Answers overtake each other, so that it
// keeps the version of each server's part: older weights never replace newer ones. The exchanges of a session's
// senders, or of a meeting, share it.
type staging struct {
	mu sync.Mutex // guards the fields below; an exchange holds it while it writes
	// dense is by param, nil for embeddings and frozen ones; it begins with the weights of the arrays.
	dense [][]float32
	// newest has each server's count of changes of its weights.
	newest  []uint64 // by server: versions of dense
	version int      // of dense: counts arrivals
}

// newStaging begins with the weights of params.
func newStaging(w *Worker, params []*optimizer.Param) *staging {
	s := &staging{dense: make([][]float32, len(params)), newest: make([]uint64, len(w.Layout.Parts))}
	for i, p := range params {
		if !p.Frozen {
			s.dense[i] = slices.Clone(p.W)
		}
	}
	return s
}

// exchange makes an exchange whose dense weights arrive here. It holds the lock while it writes an answer's weights.
func (s *staging) exchange(servers *exchange.Servers) *exchange.Exchange {
	x := exchange.New(servers)
	x.Dense, x.Install, x.Newest = s.dense, &s.mu, s.newest
	return x
}

// arrived notes that an exchange has written weights.
func (s *staging) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

// install copies the weights into params, unless they have the current version, and returns the version that they have
// then. It sets versions, unless nil, to the servers'.
func (s *staging) install(params []*optimizer.Param, has int, versions []uint64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	copy(versions, s.newest)
	if has == s.version {
		return has
	}
	for i, p := range params {
		copy(p.W, s.dense[i])
	}
	return s.version
}
