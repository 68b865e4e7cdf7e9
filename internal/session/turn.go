package session

import "context"

// turn is what a worker in lockstep does one at a time: a push or the end of an epoch, which is over when all servers have closed the
// round, and a checkpoint, which holds pushes. A save that found one of its worker's pushes on its way would hold it on one
// server while another, that has closed the round, waits for the first one's sums of squares.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// InTurn waits until the worker does nothing else of what workers in lockstep wait for, which no one does before done is called.
// Where they do not, there is nothing to wait for.
func (w *Worker) InTurn(ctx context.Context, doing string) (done func(), err error) {
	if !w.mode.Lockstep {
		return func() {}, nil
	}
	ctx, release := w.Bound(ctx)
	defer release()
	select {
	case w.turn <- struct{}{}:
		return func() { <-w.turn }, nil
	case <-ctx.Done():
		return nil, describe(context.Cause(ctx), doing, w)
	}
}
