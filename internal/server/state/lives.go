package state

import (
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// Lives counts the processes of each server that came back from its journal, from 0. Of two processes of one server the
// later one counts. The earlier one still runs if no file lock has stopped it: on a machine whose disk was moved, or in
// a process that stood still.
//
//	a request names a later life of    this process is replaced: it stops answering, and ends
//	this server
//	a request between servers comes    it is refused, and its sender ends in the same way
//	from an earlier life
//	an answer comes from an earlier    it does not count (peer.Once)
//	life
type Lives struct {
	own  uint32
	of   []peer.Life
	once sync.Once
	over atomic.Bool
	// Replaced is closed when another process has taken this one's place.
	Replaced chan struct{}
}

func newLives(servers int) *Lives {
	return &Lives{of: make([]peer.Life, servers), Replaced: make(chan struct{})}
}

// Begin sets the life of this process. It is called before the server serves.
func (l *Lives) Begin(life uint32) { l.own = life }

// Own is the life of this process.
func (l *Lives) Own() uint32 { return l.own }

// Of is the life of a server, as far as this process has seen it.
func (l *Lives) Of(server int) *peer.Life { return &l.of[server] }

// End notes that another process has taken this one's place.
func (l *Lives) End() {
	l.once.Do(func() {
		l.over.Store(true)
		close(l.Replaced)
	})
}

// Admit refuses requests of an earlier life, and every request if this process is the earlier one itself. The frame has
// proved that it belongs to this run of the job; servers reports whether its sender is a server.
func (l *Lives) Admit(h *wire.Header, own int, servers bool) error {
	if h.ServerLife > l.own {
		l.End()
	}
	if l.over.Load() {
		return wire.Refuse(wire.StatusNotReady, "another process has the place of server %d, with its journal", own)
	}
	if from := int(h.Worker); servers && from != own && from < len(l.of) && l.of[from].Heard(h.Life) != nil {
		return wire.Refuse(wire.StatusReplaced, "another process has the place of server %d, with its journal", from)
	}
	return nil
}
