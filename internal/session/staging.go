package session

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/optimizer"
)

// staging is where the dense weights of answers wait until a step begins with them. Answers overtake each other, so
// that the version of each server's part is kept: older weights never replace newer ones. It is shared by the exchanges
// of a session's senders, or of a meeting's.
type staging struct {
	mu sync.Mutex // guards what follows; an exchange holds it while it writes
	// dense is by param, nil for embeddings and frozen ones; it begins with the weights of the arrays.
	dense [][]float32
	// A version is the count of changes that its server gave the weights.
	newest  []uint64 // versions of dense, by server
	version int      // of dense: counts what has arrived
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

// exchange is an exchange whose dense weights arrive here. Its Install is the lock, which it holds while it writes an
// answer's weights.
func (s *staging) exchange(servers *exchange.Servers) *exchange.Exchange {
	x := exchange.New(servers)
	x.Dense, x.Install, x.Newest = s.dense, &s.mu, s.newest
	return x
}

// arrived says that an exchange has brought weights.
func (s *staging) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

// install gives params the weights, in the place of a version's, and returns the version that they have now.
// It sets versions, unless that is nil, to the servers'.
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
