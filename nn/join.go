package nn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

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
	exe  *Executor
	plan *plan
	feed *feedBatch // read by exe
	// turn ends a wait, once: with the calls to compute, of which this is the first, or with nil if another call has
	// computed this one.
	turn chan []*call

	joint  feedBatch // of the calls that it has computed
	scores [][]float32
	err    error
}

// newJoiner returns nil if each call is to be computed alone.
func newJoiner(most int) (*joiner, error) {
	if most < 0 {
		return nil, fmt.Errorf("nn: ScorerOptions.Join is %d: it counts rows, from 0", most)
	}
	if most < 2 {
		return nil, nil
	}
	return &joiner{most: most, lanes: max(1, runtime.GOMAXPROCS(0)/4)}, nil
}

// mixing returns a node on which the outputs depend and which combines all examples; nil if there is none.
func mixing(outputs []*Node) *Node {
	fed := map[*Node]bool{}
	for _, n := range behind(outputs[0].graph, outputs) {
		fed[n] = isFeed(n) || slices.ContainsFunc(n.in, func(in *Node) bool { return fed[in] })
		if _, mixes := n.op.(mixer); mixes {
			return n
		}
		if fed[n] && !isFeed(n) && (len(n.shape) == 0 || n.shape[0] != batch) {
			return n
		}
	}
	return nil
}

var errLeaderGone = errors.New("nn: scorer: the call that computed this one panicked")

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
	n, rows := 1, j.waiting[0].feed.rows
	for ; n < len(j.waiting) && j.waiting[n].joins(j.waiting[0]); n++ {
		if rows += j.waiting[n].feed.rows; rows > j.most {
			break
		}
	}
	lead := slices.Clone(j.waiting[:n])
	j.waiting = slices.Delete(j.waiting, 0, n)
	lead[0].turn <- lead
}

// joins reports whether both calls can be one batch: a feed's ids must be int64 in both, or uint64 in both.
func (c *call) joins(o *call) bool { return c.feed.rows > 0 && slices.Equal(c.feed.wide, o.feed.wide) }

// compute computes the calls as one batch. An error caused by one call's rows, such as a number out of bounds, is the
// error of that call alone.
func compute(ctx context.Context, calls []*call) {
	lead := calls[0]
	if len(calls) == 1 {
		lead.alone(ctx)
		return
	}
	parts := make([]*feedBatch, len(calls))
	for i, c := range calls {
		c.err, parts[i] = errLeaderGone, c.feed
	}
	lead.joint.join(parts)
	lead.joint.collect(lead.exe, lead.plan)
	ctx = context.WithoutCancel(ctx) // it does not serve the first call alone
	out, err := lead.exe.compute(ctx, lead.plan, &lead.joint)
	if err != nil {
		for _, c := range calls {
			c.alone(ctx)
		}
		return
	}
	from := 0
	for _, c := range calls {
		c.receive(out, from, lead.joint.rows)
		from += c.feed.rows
	}
}

// read reads the feeds of a call, which are used in place until it has been computed.
func (c *call) read(feeds map[string]*tensor.Dense, outputs []*Node) (err error) {
	if c.plan, err = c.exe.ready(outputs, false); err != nil {
		return err
	}
	c.feed = c.exe.batches[0]
	return c.feed.read(c.plan, feeds)
}

// alone computes the call by itself.
func (c *call) alone(ctx context.Context) {
	c.feed.collect(c.exe, c.plan)
	out, err := c.exe.compute(ctx, c.plan, c.feed)
	if c.err = err; err == nil {
		c.receive(out, 0, c.feed.rows)
	}
}

// receive copies the call's rows out of the results.
func (c *call) receive(out []*tensor.Dense, from, rows int) {
	c.scores, c.err = make([][]float32, len(out)), nil
	for i, t := range out {
		all := t.Float32s()
		each := len(all) / max(rows, 1)
		c.scores[i] = slices.Clone(all[from*each : (from+c.feed.rows)*each])
	}
}
