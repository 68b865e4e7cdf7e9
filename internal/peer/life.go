package peer

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Life is the life of a server, as far as a process knows: the highest of its answers and requests. Each process that
// comes back from the server's journal begins the next. The one before may run still, on a machine that lost the
// journal's disk, or stand still and go on later: nothing that it answers counts any more.
type Life struct{ n atomic.Uint32 }

// ErrReplaced says that an answer is of a process whose place another has.
var ErrReplaced = errors.New("another process has the server's place")

// Heard takes note of the life of who has sent something. A life that is over is an ErrReplaced.
func (l *Life) Heard(life uint32) error {
	for known := l.n.Load(); ; known = l.n.Load() {
		switch {
		case life < known:
			return fmt.Errorf("life %d of the server, and life %d has been heard: %w", life, known, ErrReplaced)
		case life == known || l.n.CompareAndSwap(known, life):
			return nil
		}
	}
}

// Known is the highest that was heard, 0 before any.
func (l *Life) Known() uint32 { return l.n.Load() }

// Forget is for a server that was started anew, without what it had: its lives are counted from 0 again.
func (l *Life) Forget() { l.n.Store(0) }
