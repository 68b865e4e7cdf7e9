package client

import "context"

// turn is what a worker in lockstep does one at a time: a push or the end of an epoch, which is over when all servers have closed the
// round, and a checkpoint, which holds pushes. A save that found one of its worker's pushes on its way would hold it on one
// server while another, that has closed the round, waits for the first one's sums of squares.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn; done gives it back.
func (t turn) take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// inTurn takes the turn where workers wait for each other.
func (c *Client) inTurn(ctx context.Context, doing string) (done func(), err error) {
	if !c.lockstep() {
		return func() {}, nil
	}
	ctx, leave := c.bound(ctx)
	defer leave()
	done, err = c.turn.take(ctx)
	return done, describe(err, doing, c)
}
