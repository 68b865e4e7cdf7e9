package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/histogram"
)

// GroupNDCG is [NDCG] of the k highest scores of each group, such as the documents of one query, of any size and in any
// batches since [Executor.ResetMetrics]: the mean over the groups that have something relevant, of shape [1]. score is
// float32 and relevance float32 or int64, not negative, of shape [N 1]; group is as in [GroupAUC]. Equal scores have
// the mean over their orders. It is exact over all workers, or of a sample of groups, as GroupAUC is.
func GroupNDCG(score, relevance, group *Node, k int) *Node {
	return apply("", groupRank{K: &k}, score, relevance, group)
}

// GroupMRR is the mean over groups of 1/rank of the first row, from the highest score down, whose label is above 0.
// Its inputs are as in [GroupNDCG]; groups without such a row are left out.
func GroupMRR(score, label, group *Node) *Node { return apply("", groupRank{}, score, label, group) }

type groupRank struct {
	K *int `json:"k,omitempty"` // nil is the reciprocal rank of the first
}

func (groupRank) kind() string   { return "group_rank" }
func (groupRank) compares()      {}
func (groupRank) groups()        {}
func (groupRank) backward(*cell) {}

func (o groupRank) called() string {
	if o.K == nil {
		return "group_mrr"
	}
	return "group_ndcg"
}

func (o groupRank) infer(in []*Node) ([]int, error) { return []int{1}, rankable(in, o.K) }

// rankable returns an error for inputs that are no scores with relevances and groups.
func rankable(in []*Node, k *int) error {
	numbers := wantFloat(in[:1]) == nil && (isInt(in[1]) || wantFloat(in[1:2]) == nil)
	right := numbers && isInt(in[2]) && (k == nil || *k > 0)
	for _, n := range in {
		right = right && len(n.shape) == 2 && n.shape[0] == batch && n.shape[1] == 1
	}
	if !right {
		return fmt.Errorf("want a float32 score, a relevance or label, an int64 group, each of shape [N 1], "+
			"and k above 0, got %v, %v and %v", in[0], in[1], in[2])
	}
	return nil
}

func (o groupRank) tally(*Node) tally { return newGroups(o.rule()) }

func (o groupRank) rule() histogram.Rule {
	if o.K == nil {
		return histogram.Reciprocals
	}
	return histogram.Gains(*o.K)
}

func (groupRank) of(t tally) float64 { return t.(*groups).mean() }

func (groupRank) forward(c *cell) {
	t := c.tally.(*groups)
	for i := range c.in[0].rows() {
		score, relevance := c.in[0].value[i], float32(0)
		if isInt(c.in[1].node) {
			relevance = float32(c.in[1].ids[i])
		} else {
			relevance = c.in[1].value[i]
		}
		switch {
		case score != score || relevance != relevance:
			t.nans = true
		case relevance < 0:
			t.outside = fmt.Errorf("a relevance is %v: want 0 or more", relevance)
		default:
			t.all.AddRanked(c.in[2].ids[i], score, relevance)
		}
	}
	if !c.silent {
		c.see()
	}
}
