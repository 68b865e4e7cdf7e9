package peer

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Life is the highest life of a server that this process has seen in the server's answers and requests. Each process
// that restores the server from its journal begins the next life. The process of the life before may still run, on a
// machine that lost the journal's disk, or be suspended and continue later: its answers no longer count.
type Life struct{ n atomic.Uint32 }

// ErrReplaced is the error for an answer of a process that was replaced by another.
var ErrReplaced = errors.New("another process has the server's place")

// Heard records the life of the sender of a message. It returns ErrReplaced for a life that is over.
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

// Known is the highest life seen, 0 before any.
func (l *Life) Known() uint32 { return l.n.Load() }

// Forget resets the life of a server that was started anew, without its state: its lives are counted from 0 again.
func (l *Life) Forget() { l.n.Store(0) }
