package nn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// Executor runs a graph. It owns the values of one step and a session with the graph's trainer. Use it from one
// goroutine at a time, and make an executor for each thread.
type Executor struct{ engine }

// engine computes a graph, for an [Executor] or a [Call].
type engine struct {
	graph *Graph
	cells []*cell // by index of the node, made when needed
	plans []*plan
	ran   *plan // in the last step, nil if that failed

	held      holding
	minimised []*optimizer.Param // of the session, in the objective's order
	shows     func([]*optimizer.Param, *optimizer.Step)

	working atomic.Bool // a step or an evaluation is under way
	session optimizer.Session
	cores   cores
	looking *looking         // reads rows beside the loss; nil until a step has rows that the session does not read
	beside  []optimizer.Rows // rows beside the loss, by table of the session
	looks   bool             // the session reads them
	late    bool             // the session has no use for the next batch's ids before End
	// learn is learnStep of an Executor, nil for a Call: a program that only scores links no backward pass.
	learn   func(ctx context.Context, p *plan, b *feedBatch) error
	ended   error // why the session has ended
	step    optimizer.Step
	steps   uint64 // training steps so far
	culprit culprit
	counts  *sharedCounts // into which it counts, nil for its own
	packed  packedWeights // of a [Frozen] graph, nil for none
	// asLoaded is set by a [Frozen] graph: the weights are the graph's own, even if a trainer changes the model
	// meanwhile.
	asLoaded bool
	aside    aside
	batches  [3]*feedBatch   // one for single steps, and two for a loop, which may evaluate between its steps
	out      []*tensor.Dense // the last step's results
}

var errInUse = errors.New("nn: the executor is in use by another call: make one for each goroutine, or score with a " +
	"Scorer of package nn/serve, which any number of goroutines may call")

// NewExecutor returns an executor for the graph. Its session with the trainer opens at the first step.
func NewExecutor(g *Graph) *Executor {
	if g == nil {
		g = NewGraph(0)
		g.fail(errors.New("nn: NewExecutor: the graph is nil: give it one of NewGraph, or a loaded model's"))
	}
	e := &Executor{}
	e.computes(g)
	e.learn = e.learnStep
	return e
}

func (e *engine) computes(g *Graph) {
	e.graph, e.held = g, holding{graph: g, params: map[*optimizer.Param]*optimizer.Param{}}
	e.batches = [3]*feedBatch{{}, {}, {}}
	e.aside.of(e)
}

// SetThread assigns this executor to one of a worker's training threads, 0 to threads−1, each with its own share of the
// worker's data. A checkpoint records how far each thread was. [TrainThreads] calls it for its executors. If several
// executors train at the same time without it, their positions can't be told apart, and a job that resumes repeats the
// epoch.
func (e *Executor) SetThread(thread, threads int) { e.step.Thread, e.step.Threads = thread, threads }

// Train runs one step on a batch: it computes the minimised loss and the fetches, passes the gradients to the trainer,
// and returns the fetched values, computed from the weights before the step. The tensors are valid until the executor's
// next call. Fetches do not train: nodes other than the loss are computed as in an evaluation, and rows that only they
// look up are read with the step's but not trained. If the trainer refuses gradients that are not finite and a feed has
// a value that is not finite, the error names it.
func (e *Executor) Train(ctx context.Context, batch map[string]*tensor.Dense, fetch ...*Node) ([]*tensor.Dense, error) {
	return e.run(ctx, batch, fetch, true, 0)
}

// Eval computes the fetches for a batch, and only what they need, without gradients and without creating rows of an
// embedding. A graph that is bound to a trainer uses the trainer's weights; other graphs use their own. The tensors are
// valid until the executor's next call. Like Train, Eval refuses an empty batch, but fetches that depend on no feed
// need no batch.
func (e *Executor) Eval(ctx context.Context, batch map[string]*tensor.Dense, fetch ...*Node) ([]*tensor.Dense, error) {
	return e.run(ctx, batch, fetch, false, 0)
}

// Count is Eval for metrics whose values are asked for behind many batches, by [Executor.Sums] and Scores: it counts
// the batch, and returns the values of fetches alone. An AUC, exact or within groups, costs less than half so.
func (e *Executor) Count(ctx context.Context, batch map[string]*tensor.Dense, metrics []*Node,
	fetch ...*Node) ([]*tensor.Dense, error) {
	out, err := e.run(ctx, batch, slices.Concat(metrics, fetch), false, len(metrics))
	if err != nil {
		return nil, err
	}
	return out[len(metrics):], nil
}

// run runs one step. It only counts into so many of the first fetches, unless another node has use for the value.
func (e *engine) run(ctx context.Context, batch map[string]*tensor.Dense, fetch []*Node, train bool,
	counts int) ([]*tensor.Dense, error) {
	if !e.working.CompareAndSwap(false, true) {
		return nil, errInUse
	}
	defer e.working.Store(false)
	p, err := e.ready(fetch, train)
	if err != nil {
		return nil, err
	}
	for i, c := range p.fetched[:counts] {
		c.silent = p.alone[i]
	}
	defer silence(p.fetched[:counts], false)
	b := e.batches[0]
	if err := b.load(e, p, batch); err != nil {
		return nil, err
	}
	return e.compute(ctx, p, b)
}

// ready opens the executor, and returns the plan for these fetches.
func (e *engine) ready(fetch []*Node, train bool) (*plan, error) {
	if err := e.open(train); err != nil {
		return nil, err
	}
	return e.plan(fetch, train)
}

// compute runs one step on a loaded batch, and returns the fetched values.
func (e *engine) compute(ctx context.Context, p *plan, b *feedBatch) (out []*tensor.Dense, err error) {
	if err := e.runStep(ctx, p, b, nil); err != nil {
		return nil, err
	}
	e.out, err = p.results(e.out[:0])
	return e.out, err
}

// Examples returns the number of examples in the batch of the last Train or Eval, by which to weight a mean over
// several batches.
func (e *Executor) Examples() int { return max(e.batches[0].rows, 0) }

// Weight returns the weight of a node's value, as computed by the last Train or Eval, in its mean over batches: for a
// [WeightedMean] the sum of the weights, or 0 if that step did not compute it; for other nodes the number of examples.
func (e *Executor) Weight(n *Node) float64 { return e.weight(n, e.Examples()) }

// weight is Weight for a batch of so many examples.
func (e *engine) weight(n *Node, examples int) float64 {
	if _, is := n.op.(weightedMean); !is {
		return float64(examples)
	}
	if e.ran != nil && slices.Contains(e.ran.cells, e.cell(n)) {
		return e.cell(n).doubles[1]
	}
	return 0
}

// runStep runs one step on a loaded batch; next is the batch after it, if known.
func (e *engine) runStep(ctx context.Context, p *plan, b, next *feedBatch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e.ran = nil
	e.bind(p, b)
	if b.raw {
		b.collect(e, p)
	}
	defer e.aside.running.Wait()
	e.describe(p, b, e.aside.begin(p, b, next))
	if err := e.look(ctx, p, b); err != nil {
		return err
	}
	if err := e.beginStep(ctx); err != nil {
		return err
	}
	e.fillOwn()
	if err := e.forward(p); err != nil {
		return e.abandon(ctx, err)
	}
	if p.train {
		if err := e.learn(ctx, p, b); err != nil {
			return err
		}
	} else if err := e.end(ctx); err != nil {
		return err
	}
	e.ran = p
	return nil
}

// learnStep passes gradients to the trainer.
func (e *engine) learnStep(ctx context.Context, p *plan, b *feedBatch) error {
	if err := errors.Join(e.backward(p), e.aside.end()); err != nil {
		return e.abandon(ctx, err)
	}
	e.steps++
	e.step.Loss = float64(p.loss.value[0])
	if loss := e.step.Loss; math.IsNaN(loss) || math.IsInf(loss, 0) {
		e.culprit.locate(p, b, e.steps)
	}
	if e.shows != nil {
		e.shows(e.minimised, &e.step)
	}
	if e.step.Settle == nil {
		e.step.Settle = func() { _ = e.publish() } // what fails is tried again after End, which returns the error
	}
	if err := e.end(ctx); err != nil {
		e.culprit.locate(p, b, e.steps)
		return e.blame(err)
	}
	return e.publish()
}

// results appends the fetched values to dst.
func (p *plan) results(dst []*tensor.Dense) ([]*tensor.Dense, error) {
	for _, c := range p.fetched {
		if c.tally != nil {
			if err := c.problem(); err != nil {
				return nil, err
			}
		}
		dst = append(dst, c.fetch())
	}
	return dst, nil
}

// ResetMetrics resets all metrics.
func (e *Executor) ResetMetrics() {
	for _, c := range e.cells {
		if c != nil && c.tally != nil {
			c.tally.reset()
		}
	}
}

// Close ends the session; when it returns, all gradients passed to the trainer have been applied. The executor may be
// used again, which opens another session.
func (e *Executor) Close(ctx context.Context) error {
	s := e.session
	if s == nil {
		e.giveBack()
		return nil
	}
	l := e.looking
	e.session, e.looking, e.ended, e.culprit = nil, nil, nil, culprit{}
	defer e.giveBack() // the session may push once more
	return errors.Join(l.close(ctx), s.Close(ctx))
}

// fetchable returns an error for nodes that have no value here.
func (g *Graph) fetchable(nodes []*Node) error {
	for i, n := range nodes {
		switch {
		case n == nil:
			return fmt.Errorf("nn: fetch %d is nil", i)
		case n.graph != g:
			return fmt.Errorf("nn: fetch %d, %s, belongs to another graph", i, n.placed())
		case n.bad:
			return errors.New("nn: a node that was made by mistake can't be fetched")
		}
		if varies(n) {
			return fmt.Errorf("nn: feed %s can't be fetched: its examples differ in length", n.placed())
		}
		if isTable(n) {
			return fmt.Errorf("nn: embedding %s can't be fetched whole: fetch a lookup of some of its rows", n.placed())
		}
	}
	return nil
}

// culprit is a number that is not finite, fed or computed of finite ones. The trainer only has gradients, and with
// merged gradients those of several steps; therefore the executor searches for it: in a step whose loss is not finite,
// and when the trainer returns an error. Good steps cost nothing, and a trainer that accepts such gradients gets them.
type culprit struct {
	what string // feed or op, row, column and origin of the row; empty if there is none
	step uint64
}

// locate searches the feeds of a step, and then what is computed, for the first number behind the loss that is not
// finite.
func (u *culprit) locate(p *plan, b *feedBatch, step uint64) {
	loss := p.loss.node
	g := loss.graph
	behind := ancestors(g, append(g.counting([]*Node{loss}), loss))
	for feed, c := range p.feeds {
		i := kernels.FirstNotFinite(c.value)
		if i < 0 || !behind[c.node.index] {
			continue
		}
		row, column := position(c.node, b.offsets[feed], i)
		what := fmt.Sprintf("feed %q%s, row %d, column %d%s is %v", c.node.name, c.node.made, row, column,
			b.where(feed, row), c.value[i])
		*u = culprit{what, step}
		return
	}
	for _, c := range p.cells {
		i := kernels.FirstNotFinite(c.value)
		if i < 0 || !behind[c.node.index] {
			continue
		}
		if !isLeaf(c.node) { // else weights were lost before
			*u = culprit{c.computed(b, i), step}
		}
		return
	}
}

// computed describes a number that was computed, with the inputs at its place.
func (c *cell) computed(b *feedBatch, i int) string {
	at, of := "", ""
	if batched(c.node) {
		row, column := position(c.node, nil, i)
		at = fmt.Sprintf(", row %d, column %d%s", row, column, b.where(0, row))
	}
	for _, in := range c.in {
		if len(in.value) == len(c.value) {
			of += fmt.Sprintf(", %v", in.value[i])
		}
	}
	if of != "" {
		of = " of " + of[2:]
	}
	return fmt.Sprintf("%s%s is %v%s", c.node.label(), at, c.value[i], of)
}

// blame adds the culprit to the error of a step, if there is one and the trainer's numbers are not all finite.
func (e *engine) blame(cause error) error {
	if cause == nil || e.culprit.what == "" || e.finite() {
		return cause
	}
	return e.culprit.explain(cause, e.steps)
}

// explain returns the error of a step with the number that caused it.
func (u *culprit) explain(cause error, step uint64) error {
	when := ""
	if ago := step - u.step; ago > 0 {
		when = fmt.Sprintf(", in the batch %d before this", ago)
	}
	return fmt.Errorf("nn: %s%s: %w", u.what, when, cause)
}

// finite reports whether all numbers that the trainer has of the step are finite.
func (e *engine) finite() bool {
	for _, own := range e.held.params {
		if kernels.FirstNotFinite(own.G) >= 0 {
			return false
		}
	}
	for _, r := range e.step.Rows {
		for _, numbers := range [][]float32{r.G, r.Show, r.Click} {
			if kernels.FirstNotFinite(numbers) >= 0 {
				return false
			}
		}
	}
	return true
}

// packedWeights are the weights of a model's layers by name, each laid out for products at its first use.
type packedWeights map[string]func() *kernels.Packed

// tally returns an executor's counts for a node of its graph; it may be nil.
func (e *engine) tally(method string, n *Node) (*Node, tally, error) {
	if n == nil || n.bad || n.graph != e.graph {
		return n, nil, fmt.Errorf("nn: %s: the node is not one of the executor's graph", method)
	}
	return n, e.cell(n).tally, nil
}

func (e *engine) forward(p *plan) error {
	for _, s := range p.chains {
		for i := range s.limits {
			if err := s.limits[i].check(s.cells[0].node); err != nil {
				return err
			}
		}
		e.cores.compute(s)
		if err := e.cores.err(); err != nil {
			return err
		}
	}
	return e.aside.measure()
}

// backward runs from the loss to the parameters. Cells that no gradient reached get a gradient of zero.
func (e *engine) backward(p *plan) error {
	for _, c := range p.back {
		c.written = false
	}
	p.loss.grad[0], p.loss.written = 1, true
	for _, s := range slices.Backward(p.chains) {
		e.cores.goBack(s)
	}
	for _, c := range p.back {
		if isLeaf(c.node) {
			c.settle()
		}
	}
	return e.cores.err()
}
