package nn

// metric is an op that counts over batches. It has no gradient.
type metric interface {
	op
	// tally returns empty counts for one executor.
	tally() tally
	// of is the metric of what was counted.
	of(t tally) float32
}

// ofBatch is a metric that forgets the batches before.
type ofBatch interface {
	metric
	batchAlone()
}

// tally is what a metric has counted in one executor since it was reset.
type tally interface {
	reset()
	// problem says what is wrong with the values counted, or nil.
	problem() error
}
