package session

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// InTurn waits for the worker's turn, which lasts until done is called. A worker in lockstep does one thing at a time:
// a push or the end of an epoch, which is over when all servers have closed the round, or a checkpoint, which holds
// pushes. A save that found one of its worker's pushes on its way would hold it on one server while another, that has
// closed the round, waits for the first server's sums of squares. Where workers are not in lockstep, nothing waits.
// done must be called once. It fails when ctx or the worker's Context ends first, with what ended it.
func (w *Worker) InTurn(ctx context.Context, doing string) (done func(), err error) {
	if !w.mode.Lockstep {
		return func() {}, nil
	}
	ctx, release := peer.Bound(ctx, w.Context)
	defer release()
	select {
	case w.turn <- struct{}{}:
		return func() { <-w.turn }, nil
	case <-ctx.Done():
		return nil, describe(context.Cause(ctx), doing, w)
	}
}

// EndEpoch implements [optimizer.Trainer]. In lockstep this worker parks: rounds of the epoch close without it, and its
// next push belongs to the next phase. It returns when all servers know, and does not wait for other workers.
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

// Round is the round that the worker's next push belongs to. Requests carry it, and a server that is behind it lets
// them wait.
func (w *Worker) Round() mode.Round {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.round.Round()
}

// Resume makes r that round; where workers have copies, it is how many updates this worker's goes on behind. It is
// called when the worker joins, and after a load of everything.
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

// Pushed says that a push of the round was answered. The next push belongs to the next round from then on.
func (w *Worker) Pushed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round.Pushed()
}
