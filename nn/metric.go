package nn

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/histogram"
)

// summed is a tally whose counts add up over executors, as numbers. Integers are exact below 2⁵³.
type summed interface {
	tally
	sums() []float64
	// set is the inverse of sums, for as many numbers.
	set(sums []float64)
}

// scoring is a tally that has the scores one by one as well, while they are few.
type scoring interface {
	summed
	scores() *histogram.Scores
}

// Sums returns the counts of a metric in this executor since [Executor.ResetMetrics]. They can be added, element by
// element, over executors and processes: [Node.OfSums] computes the metric of the total. All metrics have sums, except
// those of the last batches.
func (e *Executor) Sums(metric *Node) ([]float64, error) {
	return sumsOf(e.tally("Sums", metric))
}

func sumsOf(metric *Node, t tally, err error) ([]float64, error) {
	if err == nil {
		_, err = metric.summed("Sums")
	}
	if err != nil {
		return nil, err
	}
	return t.(summed).sums(), nil
}

// Scores returns what an AUC, a PRAUC or a GroupAUC of this executor has counted besides its [Executor.Sums]: the
// scores as they are, with which [Node.OfSums] of all executors is exact. Of other metrics it is nil.
func (e *Executor) Scores(metric *Node) ([]byte, error) {
	_, t, err := e.tally("Scores", metric)
	if s, has := t.(scoring); err == nil && has && s.scores().Most > 0 {
		return s.scores().Bytes(), nil
	}
	return nil, err
}

// OfSums returns the metric computed from sums that were added up (see [Executor.Sums]); NaN if they don't determine
// it, such as an AUC when all labels are of one class. With the [Executor.Scores] of all executors, an AUC is as exact
// as that of one executor; a GroupAUC needs them.
func (n *Node) OfSums(sums []float64, scores ...[]byte) (float64, error) {
	m, err := n.summed("OfSums")
	if err != nil {
		return 0, err
	}
	t := m.tally(n).(summed)
	empty := t.sums()
	if len(sums) != len(empty) {
		return 0, fmt.Errorf("nn: OfSums: %s has %d sums, it was given %d", n.label(), len(empty), len(sums))
	}
	nothing := len(scores) == 0
	for _, s := range sums {
		nothing = nothing && s == 0
	}
	if nothing {
		return math.NaN(), nil
	}
	t.set(sums)
	if s, has := t.(scoring); has && len(scores) > 0 {
		for _, its := range scores {
			if err := s.scores().Join(its); err != nil {
				return 0, fmt.Errorf("nn: OfSums: %s: %w", n.label(), err)
			}
		}
	}
	if oneClass(m, t) || unknown(t) {
		return math.NaN(), nil
	}
	return m.of(t), nil
}

// SumsLen returns the length of the metric's [Executor.Sums]; 0 if it has none.
func (n *Node) SumsLen() int {
	m, err := n.summed("")
	if err != nil {
		return 0
	}
	return len(m.tally(n).(summed).sums())
}

// summed returns the op of a metric whose counts add up.
func (n *Node) summed(call string) (metric, error) {
	switch m := n.op.(type) {
	case ofBatch, slidingAUC:
	case metric:
		return m, nil
	}
	return nil, fmt.Errorf("nn: %s: %s does not count over batches", call, n.label())
}

// Counts says whether a node is a metric that counts over batches, so that it has [Executor.Sums].
func (n *Node) Counts() bool {
	_, err := n.summed("")
	return err == nil
}

// falls is a metric whose value may fall as a model improves.
type falls interface{ falls() bool }

// Falls says whether the node's value falls as a model improves: true for losses, for errors, and for nodes that are
// not metrics, unless they are declared HigherIsBetter.
func (n *Node) Falls() bool {
	_, counts := n.op.(metric)
	f, is := n.op.(falls)
	return !counts && !n.rises || is && f.falls()
}

// Label returns the node's label in reports: its name or, for a node without a given name, its kind, such as auc.
func (n *Node) Label() string {
	number, auto := strings.CutPrefix(n.name, called(n.op)+"_")
	if _, err := strconv.Atoi(number); auto && err == nil {
		return called(n.op)
	}
	return n.name
}

// HigherIsBetter declares that a higher value of this node is better, and returns the node. It is for metrics of the
// program's own, such as the mean of a [Custom] node: without it, a lower value of a node that is no metric of this
// package counts as better. Hooks that keep the best model, stop a job or lower its rate use it, and so do comparisons
// of jobs. It is an error for a metric of this package of which a lower value is better, such as [MAE], and for a loss
// that is minimised.
func (n *Node) HigherIsBetter() *Node {
	if _, counts := n.op.(metric); counts && n.Falls() {
		n.graph.fail(fmt.Errorf("nn: %s can't be declared HigherIsBetter%s: a lower value of it is better", n.placed(),
			here()))
		return n
	}
	n.rises = true
	return n
}
