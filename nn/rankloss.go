package nn

import (
	"cmp"
	"math"
	"slices"
)

// RankNet is a loss for the order of the rows of a group, such as the documents of one query, of shape [N 1]: a row has
//
//	Σ ln(1 + e^(sⱼ−s))    over the rows j of its group with less relevance, s being scores
//
// (Burges et al., 2005). score is float32 and relevance float32 or int64, not negative, of shape [N 1]; group is an
// int64 of shape [N 1]. The label gets no gradient. A row without a less relevant one, such as that of a group of one,
// has 0.
//
// Only rows of one batch are compared, so a batch should have whole groups: package train deals them so where group is
// a column, as ShuffleGroups of package dataset does, and a group that two batches divide counts as two. Test with
// [GroupNDCG], which sees the groups of all workers whole.
func RankNet(score, relevance, group *Node) *Node {
	return apply("", groupPairs{}, score, relevance, group)
}

// LambdaRank is [RankNet] with each pair's term multiplied by |ΔNDCG@k|, by how much [GroupNDCG] of the rows that the
// batch has of the group would change if the two changed places (Burges, 2010; as a loss, Wang et al., 2018). Places
// are by score, equal scores in the order of rows, and get no gradient. Gains are the relevances: for gains of 2^r − 1
// feed these.
func LambdaRank(score, relevance, group *Node, k int) *Node {
	return apply("", groupPairs{&k}, score, relevance, group)
}

type groupPairs struct {
	K *int `json:"k,omitempty"` // nil counts all pairs alike
}

func (groupPairs) kind() string          { return "group_pairs" }
func (groupPairs) passes(input int) bool { return input == 0 }
func (groupPairs) compares()             {}
func (groupPairs) groups()               {}
func (groupPairs) mixes()                {}

func (o groupPairs) called() string {
	if o.K == nil {
		return "rank_net"
	}
	return "lambda_rank"
}

func (o groupPairs) infer(in []*Node) ([]int, error) {
	return []int{batch, 1}, rankable(in, o.K)
}

func (groupPairs) limits(n *Node) []limit {
	if isInt(n.in[1]) {
		return []limit{{input: 1}}
	}
	return []limit{{input: 1, between: &span{0, math.MaxFloat32, true},
		why: "no relevance of " + n.label() + ", which is 0 or more"}}
}

// eachPair calls f with each two rows of a group of which the first is the more relevant, and the pair's weight.
func (o groupPairs) eachPair(c *cell, f func(better, worse int32, weight float64)) {
	score, relevance, group := c.in[0].value, c.labels(), c.in[2].ids
	order := c.scratchInts(len(group))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(group[a], group[b]), cmp.Compare(score[b], score[a]), cmp.Compare(a, b))
	})
	for from, to := 0, 0; from < len(order); from = to {
		for to = from; to < len(order) && group[order[to]] == group[order[from]]; {
			to++
		}
		rows, best := order[from:to], o.best(c, order[from:to], relevance)
		for i, a := range rows {
			for j, b := range rows[:i] {
				gap, weight := float64(relevance[a])-float64(relevance[b]), 1.0
				if o.K != nil {
					weight = math.Abs(gap*(o.discount(i)-o.discount(j))) / best
				}
				switch {
				case gap > 0:
					f(a, b, weight)
				case gap < 0:
					f(b, a, weight)
				}
			}
		}
	}
}

// discount is what a gain counts at a place from 0.
func (o groupPairs) discount(place int) float64 {
	if place >= *o.K {
		return 0
	}
	return 1 / math.Log2(float64(place)+2)
}

// best is the discounted gain of rows in the best order.
func (o groupPairs) best(c *cell, rows []int32, relevance []float32) (sum float64) {
	if o.K == nil {
		return 0
	}
	gains := c.scratch(len(rows))
	for i, row := range rows {
		gains[i] = -relevance[row]
	}
	slices.Sort(gains)
	for i, gain := range gains[:min(len(gains), *o.K)] {
		sum -= float64(gain) * o.discount(i)
	}
	return sum
}

func (o groupPairs) forward(c *cell) {
	score, sums := c.in[0].value, c.sums(len(c.value))
	o.eachPair(c, func(better, worse int32, weight float64) {
		sums[better] += weight * softplus(float64(score[worse])-float64(score[better]))
	})
	for i, relevance := range c.labels() {
		c.value[i] = float32(sums[i] + 0*float64(relevance)) // NaN of one that is NaN
	}
}

func (o groupPairs) backward(c *cell) {
	if !c.in[0].wanted {
		return
	}
	score, ds := c.in[0].value, c.in[0].sum()
	o.eachPair(c, func(better, worse int32, weight float64) {
		d := float64(c.grad[better]) * weight / (1 + math.Exp(float64(score[better])-float64(score[worse])))
		ds[better] -= float32(d)
		ds[worse] += float32(d)
	})
}

// softplus is ln(1 + eˣ).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
