package session

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/optimizer"
)

// staging is where senders leave the dense weights that come with answers, until a step begins with them. Answers overtake each
// other, so that the version of each server's part is kept: older weights never replace newer ones.
type staging struct {
	params []*optimizer.Param // of the session

	mu     sync.Mutex // guards what follows; an exchange holds it while it writes
	dense  [][]float32
	newest []uint64 // versions of dense, by server
	fresh  bool     // something arrived since the last step began
}

func newStaging(w *Worker, params []*optimizer.Param) *staging {
	s := &staging{params: params, dense: make([][]float32, len(params)), newest: make([]uint64, len(w.Layout.Parts))}
	for i, p := range params {
		if !p.Frozen {
			s.dense[i] = slices.Clone(p.W)
		}
	}
	return s
}

// exchange is an exchange whose dense weights arrive here.
func (s *staging) exchange(servers *exchange.Servers) *exchange.Exchange {
	x := exchange.New(servers)
	x.Dense, x.Install, x.Newest = s.dense, &s.mu, s.newest
	return x
}

// arrived says that an exchange has brought weights.
func (s *staging) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = true
}

// install makes the weights the params', and sets versions, unless that is nil, to theirs.
func (s *staging) install(versions []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	copy(versions, s.newest)
	if !s.fresh {
		return
	}
	s.fresh = false
	for i, p := range s.params {
		copy(p.W, s.dense[i])
	}
}
