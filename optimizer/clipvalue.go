package optimizer

import "fmt"

// ClipByValue keeps each element of the gradient between Min and Max and leaves the rest to another rule. With Min 0
// and Max above, it is between −Max and Max.
//
// It acts on what an update is given: in mode sync and in collective jobs the mean of all workers' gradients, in modes
// async, half_async and ssp a push, each of its gradients if they are added up ([Additive]), in geo the worker's own
// gradient. The package's documentation has a table.
//
// Where a rule has both, gradients are clipped before decay is added: Decay{Rule: …} goes inside ClipByValue{Rule: …}.
type ClipByValue struct {
	Rule
	Min, Max float64
}

// Unwrap implements [Wrapper].
func (c ClipByValue) Unwrap() Rule { return c.Rule }

// Update implements [Rule].
func (c ClipByValue) Update(w, g, state []float32, s *State) {
	low, high := float32(c.limit()), float32(c.Max)
	clipped := s.Buffer(len(w))
	for i, v := range g[:len(w)] {
		clipped[i] = clamp(v, low, high)
	}
	c.Rule.Update(w, clipped, state, s)
}

func (c ClipByValue) limit() float64 {
	if c.Min == 0 {
		return -c.Max
	}
	return c.Min
}

// Check implements [Checker].
func (c ClipByValue) Check() error {
	if !(c.limit() < c.Max) {
		return fmt.Errorf("optimizer: clip by value: Min is %v and Max is %v: Max must be above", c.Min, c.Max)
	}
	return nil
}
