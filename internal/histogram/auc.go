package histogram

// AUC returns the area under the ROC curve, by trapezoids between buckets: the share of pairs of a positive and a
// negative example in which the positive one is in the higher bucket; pairs in one bucket count half. It is 0.5 if one
// of the labels is absent.
func AUC(pos, neg []int64) float64 {
	var c Curve
	for i := len(pos) - 1; i >= 0; i-- {
		c.Add(float64(pos[i]), float64(neg[i]))
	}
	if area, known := c.AUC(nil); known {
		return area
	}
	return 0.5
}

// Curve is a ROC curve, bucket by bucket from the highest.
type Curve struct {
	tp, fp, area, together float64
}

// Add adds a bucket with the weights of both labels.
func (c *Curve) Add(pos, neg float64) {
	both := pos * neg / 2
	c.area += neg*c.tp + both
	c.together += both
	c.tp, c.fp = c.tp+pos, c.fp+neg
}

// AUC is the area below the curve; false without a pair of both labels. Pairs in one bucket may be wrong by a half
// each: where that may be 1e-4 of all, it is that of the scores themselves, if they are given and all there.
func (c *Curve) AUC(scores *Scores) (area float64, known bool) {
	pairs := c.tp * c.fp
	if scores != nil && c.together > bucketsDoubt*pairs {
		if exact, all := scores.AUC(); all {
			return exact, true
		}
	}
	return c.area / pairs, pairs > 0
}

// bucketsDoubt is how far an AUC of buckets may be from that of the scores; a tenth is left for float32s.
const bucketsDoubt = 9e-5
