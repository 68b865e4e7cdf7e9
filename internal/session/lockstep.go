package session

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// InTurn waits for the worker's turn, which lasts until done is called; done must be called once. A worker in lockstep
// does one thing at a time: a push, the end of an epoch, which is over when all servers have closed the round, or a
// checkpoint, which holds pushes. A save that found one of its worker's pushes under way would hold it on one server
// while another, that has closed the round, waits for the first server's sums of squares. Outside lockstep nothing
// waits. InTurn fails when ctx or the worker's Context ends first, with the cause.
func (w *Worker) InTurn(ctx context.Context, doing string) (done func(), err error) {
	if !w.mode.Lockstep {
		return func() {}, nil
	}
	done = func() { <-w.turn }
	select {
	case w.turn <- struct{}{}:
		return done, nil
	default:
	}
	ctx, release := peer.Bound(ctx, w.Context)
	defer release()
	select {
	case w.turn <- struct{}{}:
		return done, nil
	case <-ctx.Done():
		return nil, describe(context.Cause(ctx), doing, w)
	}
}

// EndEpoch implements [optimizer.Trainer]. In lockstep this worker parks: rounds of the epoch close without it, and its
// next push belongs to the next phase. It returns when all servers have noted that, and does not wait for other
// workers.
func (w *Worker) EndEpoch(ctx context.Context) error {
	if err := w.Drain(ctx); err != nil {
		return err
	}
	w.Met()
	if !w.mode.Lockstep {
		return nil
	}
	done, err := w.InTurn(ctx, "ending the epoch")
	if err != nil {
		return err
	}
	defer done()
	seq, acked := w.Servers.Sequence.Begin()
	defer w.Servers.Sequence.End(seq)
	h := w.Servers.Header(wire.OpPark)
	h.Seq, h.Acked, h.Round = seq, acked, uint64(w.Round())
	if err := exchange.New(w.Servers).Say(ctx, h); err != nil {
		return fmt.Errorf("ending the epoch: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round.Parked()
	return nil
}

// Round is the round that the worker's next push belongs to. Requests carry it, and wait at a server that is behind it.
func (w *Worker) Round() mode.Round {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.round.Round()
}

// Resume sets the worker's round to r; if workers have copies, r is the number of updates that this worker's copy
// continues from. It is called when the worker joins, and after a load of everything.
func (w *Worker) Resume(r mode.Round) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode.Copies {
		if w.updates = int64(r); w.geo != nil {
			w.geo.model.goOn(w.updates)
		}
		return
	}
	w.round.Resume(r)
}

// Pushed notes that a push of the round was answered: the next push belongs to the next round.
func (w *Worker) Pushed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round.Pushed()
}
