package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/nn"
	"gorgonia.org/tensor"
)

// joiner limits the number of calls that compute at once. Calls that arrive meanwhile wait; those that wait when a
// computation ends are computed as one batch, so that a matrix of weights is read once for all of them. No call waits
// to be joined: while a lane is free, a call begins at once.
type joiner struct {
	most int // rows of calls that are computed together
	// computations at once; the other processors convert the inputs and outputs of calls, without which calls would
	// never have to wait
	lanes int

	mu      sync.Mutex // guards the fields below
	busy    int        // lanes
	waiting []*call
}

// call is a call of a scorer, whose feeds have been read. It is part of a workspace, and is reused with it.
type call struct {
	*nn.Call
	// turn ends a wait, once: with the calls to compute, of which this is the first, or with nil if another call has
	// computed this one.
	turn chan []*call

	together int // rows of the calls that it last computed
	scores   [][]float32
	err      error
}

// newJoiner returns nil if each call is to be computed alone.
func newJoiner(most int) (*joiner, error) {
	if most < 0 {
		return nil, fmt.Errorf("serve: ScorerOptions.Join is %d: it counts rows, from 0", most)
	}
	if most < 2 {
		return nil, nil
	}
	return &joiner{most: most, lanes: max(1, runtime.GOMAXPROCS(0)/4)}, nil
}

var errLeaderGone = errors.New("serve: scorer: the call that computed this one panicked")

// do computes a call, alone or together with others.
func (j *joiner) do(ctx context.Context, c *call) {
	if c.err = ctx.Err(); c.err != nil {
		return
	}
	if j == nil {
		c.alone(ctx)
		return
	}
	lead := j.enter(c)
	if lead == nil {
		select {
		case lead = <-c.turn:
		case <-ctx.Done():
			if j.leave(c) {
				c.err = ctx.Err()
				return
			}
			lead = <-c.turn // a computation includes it, and ends soon
		}
	}
	if lead != nil {
		defer j.next(lead)
		compute(ctx, lead)
	}
}

// enter returns the calls to compute now: c, or nil if c has to wait.
func (j *joiner) enter(c *call) []*call {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.busy < j.lanes {
		j.busy++
		return []*call{c}
	}
	if c.turn == nil {
		c.turn = make(chan []*call, 1)
	}
	j.waiting = append(j.waiting, c)
	return nil
}

// leave removes a waiting call, and reports whether it still waited.
func (j *joiner) leave(c *call) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.Index(j.waiting, c)
	if i < 0 {
		return false
	}
	j.waiting = slices.Delete(j.waiting, i, i+1)
	return true
}

// next ends the waits of the calls that were computed with the first, and gives the lane to waiting calls.
func (j *joiner) next(done []*call) {
	for _, c := range done[1:] {
		c.turn <- nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) == 0 {
		j.busy--
		return
	}
	n, rows := 1, j.waiting[0].Rows()
	for ; n < len(j.waiting) && j.waiting[n].Joins(j.waiting[0].Call); n++ {
		if rows += j.waiting[n].Rows(); rows > j.most {
			break
		}
	}
	lead := slices.Clone(j.waiting[:n])
	j.waiting = slices.Delete(j.waiting, 0, n)
	lead[0].turn <- lead
}

// compute computes the calls as one batch. An error caused by one call's rows, such as a number out of bounds, is the
// error of that call alone.
func compute(ctx context.Context, calls []*call) {
	lead := calls[0]
	if len(calls) == 1 {
		lead.alone(ctx)
		return
	}
	others := make([]*nn.Call, 0, len(calls)-1)
	lead.together = 0
	for _, c := range calls {
		c.err = errLeaderGone
		lead.together += c.Rows()
		if c != lead {
			others = append(others, c.Call)
		}
	}
	ctx = context.WithoutCancel(ctx) // it does not serve the first call alone
	out, err := lead.Compute(ctx, others...)
	if err != nil {
		for _, c := range calls {
			c.alone(ctx)
		}
		return
	}
	from := 0
	for _, c := range calls {
		c.receive(out, from, lead.together)
		from += c.Rows()
	}
}

// alone computes the call by itself.
func (c *call) alone(ctx context.Context) {
	out, err := c.Compute(ctx)
	if c.err = err; err == nil {
		c.receive(out, 0, c.Rows())
	}
}

// receive copies the call's rows out of the results.
func (c *call) receive(out []*tensor.Dense, from, rows int) {
	c.scores, c.err = make([][]float32, len(out)), nil
	for i, t := range out {
		all := t.Float32s()
		each := len(all) / max(rows, 1)
		c.scores[i] = slices.Clone(all[from*each : (from+c.Rows())*each])
	}
}
