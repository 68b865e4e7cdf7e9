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

// joiner lets few calls compute at once. Calls that come meanwhile wait, and what waits when a computation ends is
// computed as one batch, so that a matrix of weights is read once for all of it. Nothing waits for company: while a
// lane is free, a call begins at once.
type joiner struct {
	most int // rows of calls that are computed together
	// computations at once; the other processors have what calls bring and take away, without which none would ever
	// wait
	lanes int

	mu      sync.Mutex // guards what follows
	busy    int        // lanes
	waiting []*call
}

// call is a call of a scorer, whose feeds have been read. It is part of a workspace, and is used again with it.
type call struct {
	exe  *Executor
	plan *plan
	feed *feedBatch // that exe has read
	// turn ends a wait, once: with the calls to compute, of which this is the first, or with nil when another call has
	// computed it.
	turn chan []*call

	joint  feedBatch // of the calls that it has computed
	scores [][]float32
	err    error
}

// newJoiner is nil where each call is to be computed alone.
func newJoiner(most int) (*joiner, error) {
	if most < 0 {
		return nil, fmt.Errorf("nn: ScorerOptions.Join is %d: it counts rows, from 0", most)
	}
	if most < 2 {
		return nil, nil
	}
	return &joiner{most: most, lanes: max(1, runtime.GOMAXPROCS(0)/4)}, nil
}

// mixing is a node behind the outputs that is of all examples together; nil if there is none.
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

// do computes a call, now or with others.
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
			lead = <-c.turn // a computation has it: that ends soon
		}
	}
	if lead != nil {
		defer j.next(lead)
		compute(ctx, lead)
	}
}

// enter is what the call is to compute now: itself, or nil where it has to wait.
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

// next answers the calls that were computed with the first, and gives its lane to calls that wait.
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

// joins says whether both calls can be one batch: ids of a feed are int64 in both, or uint64.
func (c *call) joins(o *call) bool { return c.feed.rows > 0 && slices.Equal(c.feed.wide, o.feed.wide) }

// compute computes the calls as one batch. What a batch fails with, such as a number that comes out of a bound, is the
// error of the call that it comes from.
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
	ctx = context.WithoutCancel(ctx) // it is not for the leader alone
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

// read takes over the feeds of a call. They are used in place until it has been computed.
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

// receive copies the call's rows of the results of so many.
func (c *call) receive(out []*tensor.Dense, from, rows int) {
	c.scores, c.err = make([][]float32, len(out)), nil
	for i, t := range out {
		all := t.Float32s()
		each := len(all) / max(rows, 1)
		c.scores[i] = slices.Clone(all[from*each : (from+c.feed.rows)*each])
	}
}
