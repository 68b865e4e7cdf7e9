package nn

import (
	"fmt"
	"sync"
)

// metric is an op that counts over batches. It has no gradient.
type metric interface {
	op
	// tally returns empty counts of a node for one executor.
	tally(n *Node) tally
	// of returns the metric of the counts.
	of(t tally) float64
}

// ofBatch is a metric of the last batch only.
type ofBatch interface {
	metric
	batchAlone()
}

// tally is a metric's counts in one executor since the last reset.
type tally interface {
	reset()
	// problem returns what is wrong with the values counted, or nil.
	problem() error
}

func forgets(m metric) bool {
	_, ok := m.(ofBatch)
	return ok
}

// sharedCounts are the tallies of executors that count together, the threads of one training. A metric of the batch
// alone is not shared.
type sharedCounts struct {
	sync.Mutex // also guards the tallies
	tallies    map[*Node]tally
}

// of returns the tally of a metric for all executors.
func (s *sharedCounts) of(n *Node, m metric) tally {
	s.Lock()
	defer s.Unlock()
	if s.tallies == nil {
		s.tallies = map[*Node]tally{}
	}
	if s.tallies[n] == nil {
		s.tallies[n] = m.tally(n)
	}
	return s.tallies[n]
}

// forward computes the cell, with the lock of its counts if other executors share them.
func (c *cell) forward() {
	if c.shared != nil {
		c.shared.Lock()
		defer c.shared.Unlock()
	}
	c.node.op.forward(c)
}

// problem returns what is wrong with a metric's counts, or nil.
func (c *cell) problem() error {
	if c.shared != nil {
		c.shared.Lock()
		defer c.shared.Unlock()
	}
	if err := c.tally.problem(); err != nil {
		return fmt.Errorf("nn: %s: %w", c.node.label(), err)
	}
	return nil
}

// counts returns the tallies of the fetched metrics.
func (p *plan) counts() map[*Node]tally {
	counts := map[*Node]tally{}
	for _, c := range p.fetched {
		if c.tally != nil {
			counts[c.node] = c.tally
		}
	}
	return counts
}

// Histogram is [Executor.Histogram] of an AUC or a BucketError node that was fetched, with the counts of all threads.
// Without threads the slices are the executor's.
func (r TrainResult) Histogram(auc *Node) (pos, neg []int64, err error) {
	t, err := r.tally("Histogram", auc)
	if err != nil {
		return nil, nil, err
	}
	return histogramOf(auc, t)
}

// Hits is [Executor.Hits] of a node that was fetched, with the counts of all threads.
func (r TrainResult) Hits(accuracy *Node) (hit, total int64, err error) {
	t, err := r.tally("Hits", accuracy)
	if err != nil {
		return 0, 0, err
	}
	return hitsOf(accuracy, t)
}

// Errors is [Executor.Errors] of a node that was fetched, with the sums of all threads.
func (r TrainResult) Errors(node *Node) (abs, sqr float64, n int64, err error) {
	t, err := r.tally("Errors", node)
	if err != nil {
		return 0, 0, 0, err
	}
	return errorsOf(node, t)
}

func (r TrainResult) tally(method string, n *Node) (tally, error) {
	if t := r.counts[n]; t != nil {
		return t, nil
	}
	if n == nil {
		return nil, fmt.Errorf("nn: %s: the node is nil", method)
	}
	return nil, fmt.Errorf("nn: %s: metric %s was not fetched: name it in TrainOptions.Fetch", method, n.label())
}

// tally returns an executor's counts for a node of its graph; it may be nil.
func (e *engine) tally(method string, n *Node) (tally, error) {
	if n == nil || n.bad || n.graph != e.graph {
		return nil, fmt.Errorf("nn: %s: the node is not one of the executor's graph", method)
	}
	return e.cell(n).tally, nil
}
