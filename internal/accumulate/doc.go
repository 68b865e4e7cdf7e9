// Package accumulate makes one update of the gradients of several steps. It works wherever the weights are: on servers,
// on workers, or in one process.
//
//	s := accumulate.New(inner, params, strategy.GradientMerge{KSteps: 4})
//	... steps as of any optimizer.Session; inner is given every fourth
//	err := s.Flush(ctx) // at the end of an epoch: what has come since
//
// It comes before all other stages of a gradient's way: the policy for values that are not finite, clipping and
// narrowing act on the merged gradient, as on that of a batch k times as large.
package accumulate
