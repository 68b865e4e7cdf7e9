package peer

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// Absence is a run of attempts at a peer that were refused. A process listens as long as it takes part in its job, so a
// process that refuses for a while has ended. A single refusal proves nothing. A machine that can't be reached, or is
// too busy to answer, does not refuse.
type Absence struct {
	began    time.Time
	attempts int
}

// fewest is the smallest number of attempts that make an absence, however long they took.
const fewest = 4

// Note records how an attempt ended, and reports whether it was refused.
func (a *Absence) Note(err error, now time.Time) bool {
	if !nobodyListens(err) {
		*a = Absence{}
		return false
	}
	if a.attempts++; a.attempts == 1 {
		a.began = now
	}
	return true
}

// Ended reports whether attempts have been refused for the duration after.
func (a *Absence) Ended(now time.Time, after time.Duration) bool {
	return a.attempts >= fewest && now.Sub(a.began) >= after
}

// nobodyListens reports whether the error shows that the peer's machine was reached and has no process at that
// endpoint.
func nobodyListens(err error) bool {
	if !errors.Is(err, transport.ErrUnreachable) || errors.Is(err, transport.ErrBusy) {
		return false
	}
	for _, other := range []error{
		context.DeadlineExceeded, context.Canceled, // the caller gave up waiting
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, // the machine was not reached
		syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, // this machine has no socket left to ask from
	} {
		if errors.Is(err, other) {
			return false
		}
	}
	var name *net.DNSError
	var slow net.Error
	return !errors.As(err, &name) && !(errors.As(err, &slow) && slow.Timeout())
}
