package gradient

// Rows are gradients of rows: ids, strictly increasing, and dim floats for each.
type Rows struct {
	IDs []uint64
	G   []float32
	// Clicks are two numbers for each id, how often it was shown and clicked; nil is one show of each and no click.
	Clicks []float32
}

// Slice is the rows [from, to) of them, each of width dim.
func (r Rows) Slice(from, to, dim int) Rows {
	part := Rows{IDs: r.IDs[from:to], G: r.G[from*dim : to*dim]}
	if r.Clicks != nil {
		part.Clicks = r.Clicks[2*from : 2*to]
	}
	return part
}

// AppendClicks appends the shows and clicks of n rows as [Rows] has them, and returns nil when nothing is said of them: no shows are one
// show each, no clicks are none.
func AppendClicks(dst []float32, n int, show, click []float32) []float32 {
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

// SplitClicks appends the two halves of what Rows has, nil where nothing is said of them.
func SplitClicks(show, click, clicks []float32) (_, _ []float32) {
	if clicks == nil {
		return nil, nil
	}
	for i := 0; i < len(clicks); i += 2 {
		show, click = append(show, clicks[i]), append(click, clicks[i+1])
	}
	return show, click
}
