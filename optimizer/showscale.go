package optimizer

// ShowScale gives a rule for rows the mean gradient over the shows of a row in place of all samples, so that a row
// which is hardly ever shown learns as fast as one in every sample:
//
//	g·Batch/show
//
// Shows are counted by pushes, for a param whose Entry is a [ShowClick]; elsewhere, and where a push shows the
// row not once, the gradient stays as it is. It is the show_scale of the original's accessors, whose workers multiply
// by the batch's size; there [SparseAdagrad] and [StdAdagrad] divide by shows, and other rules take the product:
//
//	optimizer.ShowScale{Rule: optimizer.SparseAdagrad{}, Batch: 512}
type ShowScale struct {
	Rule
	// Batch is the number of samples that an update's gradient is the mean of: a worker's batch, in mode sync all
	// workers' together. 0 means 1.
	Batch float64
}

// Unwrap implements [Wrapper].
func (r ShowScale) Unwrap() Rule { return r.Rule }

// Update implements [Rule].
func (r ShowScale) Update(w, g, state []float32, s *State) {
	if !(s.Show > 0) {
		r.Rule.Update(w, g, state, s)
		return
	}
	scale := float32(or(r.Batch, 1)) / s.Show
	mean := s.Buffer(len(w))
	for i, v := range g[:len(w)] {
		mean[i] = v * scale
	}
	r.Rule.Update(w, mean, state, s)
}

// check says what is wrong with the settings, as [Checker] does.
func (r ShowScale) check() error {
	return checks("show scale", checkPositive("Batch", r.Batch))
}
