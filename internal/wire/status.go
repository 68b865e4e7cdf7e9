package wire

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The statuses of a reply.
const (
	StatusOK       uint8 = iota
	StatusRefused        // the request is wrong; repeating it won't help
	StatusMismatch       // the other side builds another model or strategy
	StatusNotReady       // try again later
	StatusStale          // from a life or round that is over
	StatusFailed         // the job has failed; the text says why
	// a server's weights are lost, or a worker's place in the rounds: the job goes on from the last checkpoint
	StatusBack
	StatusAgain   // for a message in pieces: begin again with the first
	StatusDamaged // the request was damaged: send it again
	StatusMissing // as StatusFailed: a worker has not joined in time
	// between servers: another process has taken the sender's place, with its journal
	StatusReplaced
	StatusBusy // for a reader: enough was read for now
)

// The errors that a [Refusal] wraps.
var (
	ErrRefused  = errors.New("request refused")
	ErrMismatch = errors.New("worker and server differ")
	ErrNotReady = errors.New("server not ready")
	ErrStale    = errors.New("out of date")
	ErrFailed   = errors.New("job failed")
	ErrMissing  = errors.New("StartTimeout is over")
	ErrWentBack = errors.New("weights of a server are lost: start the job again from its last checkpoint")
	ErrAgain    = errors.New("begin again with the first piece")
	ErrBusy     = errors.New("enough was read for now")
	ErrReplaced = errors.New("another process has this server's place, with its journal")
)

// Refusal is a server's answer that a request was not executed.
type Refusal struct {
	Status uint8
	Text   string
	// Retry is the time after which to try again, with StatusBusy.
	Retry time.Duration
}

// Refuse makes a refusal.
func Refuse(status uint8, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

func (r *Refusal) Error() string { return r.Text }

// causes are the errors of statuses; any other wraps ErrRefused.
var causes = map[uint8]error{StatusMismatch: ErrMismatch, StatusNotReady: ErrNotReady, StatusStale: ErrStale,
	StatusFailed: ErrFailed, StatusMissing: ErrMissing, StatusBack: ErrWentBack, StatusAgain: ErrAgain,
	StatusDamaged: ErrDamaged, StatusReplaced: ErrReplaced, StatusBusy: ErrBusy}

// Unwrap returns the error of the refusal's status.
func (r *Refusal) Unwrap() error { return cmp.Or(causes[r.Status], ErrRefused) }

// Refusal is the refusal in a reply, nil if it is none.
func (f *Frame) Refusal() error {
	if f.Status == StatusOK {
		return nil
	}
	text := "no reason given"
	if b, ok := f.Blob(); ok {
		text = string(b)
	}
	r := &Refusal{Status: f.Status, Text: text}
	if f.Status == StatusBusy {
		r.Retry = time.Duration(f.Samples) * time.Millisecond
	}
	return r
}
