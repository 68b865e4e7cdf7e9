package nn

import "fmt"

// SlidingAUC is the AUC of the last steps batches, this one among them, of shape [1]. pred and label are as in
// [AUC], buckets as in [BatchAUC].
func SlidingAUC(pred, label *Node, steps int) *Node {
	return apply("", slidingAUC{Steps: steps}, pred, label)
}

type slidingAUC struct {
	auc
	Steps int `json:"steps"`
}

func (slidingAUC) kind() string { return "sliding_auc" }

func (s slidingAUC) infer(in []*Node) ([]int, error) {
	shape, err := s.auc.infer(in)
	if most := maxThresholds / max(s.thresholds(), 1); err == nil && (s.Steps < 1 || s.Steps > most) {
		err = fmt.Errorf("%d steps: between 1 and %d are needed, for %d thresholds", s.Steps, most, s.thresholds())
	}
	return shape, err
}

func (s slidingAUC) tally(*Node) tally {
	return &recent{steps: s.Steps, sum: newHistogram(s.thresholds())}
}

func (slidingAUC) of(t tally) float64 { return t.(*recent).sum.AUC() }

func (s slidingAUC) forward(c *cell) {
	t, pred := c.tally.(*recent), c.in[0]
	h := t.oldest()
	t.sum.add(h, -1)
	h.reset()
	for i := range pred.rows() {
		h.count(c, i)
	}
	t.sum.add(h, 1)
	t.crowd.see(c, h)
	c.value[0] = float32(s.of(t))
}

// recent are the histograms of the last batches, in a ring, and their sum.
type recent struct {
	steps, at int
	ring      []*Histogram
	sum       *Histogram
	crowd     crowding
}

// oldest returns the histogram that the next batch replaces.
func (t *recent) oldest() *Histogram {
	if len(t.ring) < t.steps {
		t.ring = append(t.ring, &Histogram{Pos: make([]int64, len(t.sum.Pos)), Neg: make([]int64, len(t.sum.Neg))})
		return t.ring[len(t.ring)-1]
	}
	h := t.ring[t.at]
	t.at = (t.at + 1) % t.steps
	return h
}

func (t *recent) reset() {
	t.ring, t.at = nil, 0
	t.sum.reset()
}

func (t *recent) problem() error { return t.sum.problem() }

// add adds the counts of another histogram, times a sign.
func (h *Histogram) add(x *Histogram, sign int64) {
	for i := range h.Pos {
		h.Pos[i] += sign * x.Pos[i]
		h.Neg[i] += sign * x.Neg[i]
	}
	h.nans += int(sign) * x.nans
	if sign > 0 && x.outside != nil {
		h.outside = x.outside
	}
}
