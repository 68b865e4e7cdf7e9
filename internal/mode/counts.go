package mode

// AppendCounts appends the counts of n rows as [Rows] has them, and returns nil when nothing is said of them: no shows are one
// show each, no clicks are none.
func AppendCounts(dst []float32, n int, show, click []float32) []float32 {
	if show == nil && click == nil {
		return nil
	}
	for i := range n {
		pair := [2]float32{1, 0}
		if show != nil {
			pair[0] = show[i]
		}
		if click != nil {
			pair[1] = click[i]
		}
		dst = append(dst, pair[:]...)
	}
	return dst
}

// SplitCounts appends the two halves of counts, nil where nothing is said of them.
func SplitCounts(show, click, counts []float32) (_, _ []float32) {
	if counts == nil {
		return nil, nil
	}
	for i := 0; i < len(counts); i += 2 {
		show, click = append(show, counts[i]), append(click, counts[i+1])
	}
	return show, click
}
