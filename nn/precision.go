package nn

// Precision is the share of positive labels among the examples whose probability is 0.5 or more, over all batches since
// [Executor.ResetMetrics], of shape [1]; 0 when there are none. pred and label are those of [AUC].
func Precision(pred, label *Node) *Node { return apply("", precision{}, pred, label) }

// Recall is the share of the examples with a positive label whose probability is 0.5 or more, over all batches since
// [Executor.ResetMetrics], of shape [1]; 0 when there are none. pred and label are those of [AUC].
func Recall(pred, label *Node) *Node { return apply("", recall{}, pred, label) }

// found is what precision and recall have in common: the share of what was found among what was counted.
type found struct{}

func (found) infer(in []*Node) ([]int, error) { return []int{1}, binary(in[0], in[1]) }
func (found) backward(*cell)                  {}
func (found) tally() tally                    { return &hits{} }

// count adds the examples that among says count; those are hits that are positive and have a probability of 0.5 or more.
func (c *cell) count(among func(said, is bool) bool) {
	t, pred := c.tally.(*hits), c.in[0]
	for i := range pred.rows() {
		said, is := pred.probability(i) >= 0.5, c.in[1].positive(i)
		if !among(said, is) {
			continue
		}
		t.total++
		if said && is {
			t.hit++
		}
	}
	c.value[0] = t.share()
}

type precision struct{ found }

func (precision) kind() string    { return "precision" }
func (precision) forward(c *cell) { c.count(func(said, _ bool) bool { return said }) }

type recall struct{ found }

func (recall) kind() string    { return "recall" }
func (recall) forward(c *cell) { c.count(func(_, is bool) bool { return is }) }
