package optimizer

import "fmt"

// ClipByValue keeps each element of the gradient between Min and Max and leaves the rest to another rule. With Min 0
// and Max above, it is between −Max and Max.
//
// It acts on what an update is given: in mode sync and in collective jobs the mean of all workers' gradients, in modes
// async, half_async and ssp a push, each of its gradients if they are added up, in geo the worker's own
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
	clipped := s.Buffer(len(w))
	c.Clip(clipped, g)
	c.Rule.Update(w, clipped, state, s)
}

// Clip sets clipped to the elements of g, each within the limits. The two may be one slice.
func (c ClipByValue) Clip(clipped, g []float32) {
	low, high := float32(c.limit()), float32(c.Max)
	for i, v := range g[:len(clipped)] {
		clipped[i] = clamp(v, low, high)
	}
}

func (c ClipByValue) limit() float64 {
	if c.Min == 0 {
		return -c.Max
	}
	return c.Min
}

// check says what is wrong with the settings, as [Checker] does.
func (c ClipByValue) check() error {
	if !(c.limit() < c.Max) {
		return fmt.Errorf("optimizer: clip by value: Min is %v and Max is %v: Max must be above", c.Min, c.Max)
	}
	return nil
}
