package histogram

// AUC returns the area under the ROC curve, by trapezoids between buckets: the share of pairs of a positive and a
// negative example in which the positive one is in the higher bucket; pairs in one bucket count half. It is 0.5 if one
// of the labels is absent.
func AUC(pos, neg []int64) float64 {
	var tp, fp, area float64
	for i := len(pos) - 1; i >= 0; i-- {
		p, n := float64(pos[i]), float64(neg[i])
		area += n * (tp + tp + p) / 2
		tp, fp = tp+p, fp+n
	}
	if tp*fp == 0 {
		return 0.5
	}
	return area / (tp * fp)
}
