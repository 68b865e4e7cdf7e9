package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/histogram"
)

// GroupAUC is the AUC within groups, such as the rows of one user, over all batches since [Executor.ResetMetrics]: the
// mean of the groups' AUCs, weighted by their numbers of rows, Σ n·AUC / Σ n (Zhou et al., Deep Interest Network,
// 2018), of shape [1]. pred and label are as in [AUC]; group is int64 of shape [N 1], or an id fed as uint64.
// Equal scores count half, and groups whose labels are all of one class are left out; it is NaN without another.
//
// It is exact, and the same bits for any order of the rows. Of more than 1,048,576 rows it is that of a sample: half of
// the groups, a quarter and so on, by the hash of the group, until they are no more. GroupAUC of package fleet/metrics
// has the plain mean over groups as well.
func GroupAUC(pred, label, group *Node) *Node { return apply("", groupAUC{}, pred, label, group) }

type groupAUC struct{}

func (groupAUC) kind() string           { return "group_auc" }
func (groupAUC) compares()              {}
func (groupAUC) groups()                {}
func (groupAUC) limits(n *Node) []limit { return []limit{labels01(n)} }
func (groupAUC) backward(*cell)         {}

func (groupAUC) infer(in []*Node) ([]int, error) {
	g := in[2]
	if err := binary(in[0], in[1]); err != nil {
		return nil, fmt.Errorf("%w, with group %v", err, g)
	}
	if !isInt(g) || g.shape[0] != batch || g.perExample() != 1 {
		return nil, fmt.Errorf("group %v of %v and %v is not one int64 an example, of shape [N 1]", g, in[0], in[1])
	}
	return []int{1}, nil
}

func (groupAUC) tally(*Node) tally  { return newGroups(histogram.AUCs) }
func (groupAUC) of(t tally) float64 { return t.(*groups).mean() }

func (groupAUC) forward(c *cell) {
	t := c.tally.(*groups)
	for i := range c.in[0].rows() {
		p := c.in[0].probability(i)
		switch {
		case p != p || c.in[1].unlabelled(i):
			t.nans = true
		case p < 0 || p > 1:
			t.outside = notProbability(p)
		default:
			t.all.Add(c.in[2].ids[i], p, c.in[1].positive(i), 1)
		}
	}
	if !c.silent {
		c.see()
	}
}

// groups are scores by group, of which a rule makes a mean.
type groups struct {
	all     histogram.Scores
	rule    histogram.Rule
	nans    bool
	outside error
}

func newGroups(rule histogram.Rule) *groups {
	return &groups{all: histogram.Scores{Most: histogram.MostGrouped, Sampled: true}, rule: rule}
}

// mean is that of all groups, with the same bits for any order of the rows.
func (t *groups) mean() float64 {
	if t.nans {
		return math.NaN()
	}
	return t.all.Mean(t.rule)
}

// now is the mean after a batch.
func (t *groups) now() float32 {
	if t.nans {
		return float32(math.NaN())
	}
	return float32(t.all.Now(t.rule))
}

func (t *groups) reset() {
	t.all.Reset()
	t.nans, t.outside = false, nil
}

func (t *groups) problem() error {
	err := t.outside
	t.outside = nil
	return err
}

// sums are the number of scores that are NaN: a group's rows may be of several executors, so that nothing adds up but
// the scores themselves.
func (t *groups) sums() []float64 {
	if t.nans {
		return []float64{1}
	}
	return []float64{0}
}

func (t *groups) set(s []float64) { t.nans = s[0] > 0 }

func (t *groups) scores() *histogram.Scores { return &t.all }
