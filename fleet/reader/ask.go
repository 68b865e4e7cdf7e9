package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// pauses are the pauses between attempts at a server that does not answer.
var pauses = peer.Pauses{First: 20 * time.Millisecond, Last: time.Second}

var (
	// errWaited ends the wait for a server.
	errWaited = errors.New("the wait is over")
	errSilent = errors.New("no answer")
)

// ask sends the request that fill builds to a server, and passes the answer to read. If the server does not answer, is
// not ready, or is busy with other readers, the request is repeated until the reader's wait is over.
func (r *Reader) ask(ctx context.Context, number int, fill func(*wire.Builder) error,
	read func(*wire.Frame) error) error {
	s, began := r.servers[number], time.Now()
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, r.wait, errWaited)
	defer cancel()
	var said error // the error of the last attempt that was not cut off
	err := peer.Repeat(ctx, pauses, func() (peer.Verdict, error) {
		var b wire.Builder
		b.Reset(wire.Header{Op: wire.OpRead, Worker: noWorker, Job: r.generation, ServerLife: s.life.Known()})
		if err := fill(&b); err != nil {
			return peer.Done, err
		}
		answered, err := peer.Once(ctx, r.t, s.endpoint, s.life, b.Parts(), read)
		if ctx.Err() == nil {
			said = err
		}
		var refusal *wire.Refusal
		switch {
		case err == nil || errors.Is(err, transport.ErrRefused) || errors.Is(err, transport.ErrTooLarge):
			return peer.Done, err
		case errors.As(err, &refusal) && refusal.Status == wire.StatusBusy:
			pause(ctx, refusal.Retry)
			return peer.Again, err
		case answered && !errors.Is(err, wire.ErrNotReady):
			return peer.Done, err
		}
		return peer.Pause, err
	})
	name := fmt.Sprintf("reader: server %d (%s)", number, s.endpoint)
	switch {
	case err == nil:
		return nil
	case outer.Err() != nil:
		return fmt.Errorf("%s: %w", name, context.Cause(outer))
	case ctx.Err() != nil:
		return fmt.Errorf("%s has not given what was asked for %v: %w", name, time.Since(began).Round(time.Millisecond),
			cmp.Or(said, errSilent))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// noWorker is the worker number of readers.
const noWorker = 1<<32 - 1

// pause waits for the server's pause d, and up to half as long again, so that readers come at different times.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d + rand.N(max(1, d/2))):
	case <-ctx.Done():
	}
}

// moment is the moment of an answer.
func (r *Reader) moment(server int, f *wire.Frame) Moment {
	return Moment{Server: server, Generation: r.generation, Remade: f.Round, Update: f.Version}
}

// rowsOf returns the section of rows of an answer, with its description.
func rowsOf(f *wire.Frame) (s wire.Section, out wire.ReadOut, err error) {
	if err = f.JSON(&out); err != nil {
		return s, out, err
	}
	for _, s := range f.Sections {
		if s.Kind == wire.KindRows {
			return s, out, nil
		}
	}
	return s, out, errAnswer
}

// errAnswer is the error for an answer that does not match the request.
var errAnswer = errors.New("the answer has other rows than the request: run the same build everywhere")
