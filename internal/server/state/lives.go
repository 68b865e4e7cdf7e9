package state

import (
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// Lives are those of the servers of a job: processes that came back from a server's journal, counted from 0. Of two
// processes of one server the later counts. The one before runs still where no lock of a file has reached it: on a
// machine that its disk was taken from, or that stood still.
//
//	a request knows a later life       this process is replaced: it answers no more, and ends
//	a request among servers is of an   it is refused, and its sender ends so
//	earlier one
//	an answer is of an earlier one     it is none (peer.Once)
type Lives struct {
	own  uint32
	of   []peer.Life
	once sync.Once
	over atomic.Bool
	// Replaced is closed when another process has this one's place.
	Replaced chan struct{}
}

func newLives(servers int) *Lives {
	return &Lives{of: make([]peer.Life, servers), Replaced: make(chan struct{})}
}

// Begin makes this process one of a life, before it serves.
func (l *Lives) Begin(life uint32) { l.own = life }

// Own is the life of this process.
func (l *Lives) Own() uint32 { return l.own }

// Of is what is known of a server.
func (l *Lives) Of(server int) *peer.Life { return &l.of[server] }

// End takes note that another process has this one's place.
func (l *Lives) End() {
	l.once.Do(func() {
		l.over.Store(true)
		close(l.Replaced)
	})
}

// Admit refuses what an earlier life sends, and everything where this process is the earlier one itself. The frame
// proves that it is of this run of the job; servers says that it is one of a server's.
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
