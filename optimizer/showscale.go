package optimizer

// ShowScale averages the gradient of a row over the row's shows instead of over all samples, so that a rarely shown row
// learns as fast as one in every sample:
//
//	g·Batch/show
//
// Pushes carry shows for a param whose Entry is a [ShowClick]; for other params, and when a push has no show of the
// row, the gradient is unchanged. It corresponds to show_scale of PaddlePaddle's accessors, whose workers multiply by
// the batch size; there [SparseAdagrad] and [StdAdagrad] divide by shows, and other rules use the product:
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

// check returns what is wrong with the settings, as a [Checker] does.
func (r ShowScale) check() error {
	return checks("show scale", checkPositive("Batch", r.Batch))
}
