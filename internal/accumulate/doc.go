// Package accumulate makes one update of the gradients of several steps, whoever keeps the weights: servers, other
// workers, or the process itself.
//
//	s := accumulate.New(inner, params, strategy.GradientMerge{KSteps: 4})
//	... steps as of any optimizer.Session; inner is given every fourth
//	err := s.Flush(ctx) // at the end of an epoch: what has come since
//
// It stands before everything that is done with a gradient on its way: policies for what is not finite, clipping and
// narrowing see the merged one, as they would see that of a batch k times as large.
package accumulate
