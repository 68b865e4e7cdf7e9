package nn

// metric is an op that counts over batches. It has no gradient.
type metric interface {
	op
	// tally returns empty counts for one executor.
	tally() tally
}

// tally is what a metric has counted in one executor since it was reset.
type tally interface {
	reset()
	// problem says what is wrong with the values counted, or nil.
	problem() error
}
