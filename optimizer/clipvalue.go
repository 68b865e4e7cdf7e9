package optimizer

import "fmt"

// ClipByValue clamps each element of the gradient to [Min, Max] before another rule applies it. With Min 0 and a
// positive Max, the range is [−Max, Max].
//
// It acts on the gradient of an update: in mode sync and in collective jobs the mean of all workers' gradients; in
// modes async, half_async and ssp a push, or each of its gradients if they are summed; in geo the worker's own
// gradient. The package documentation has a table.
//
// To combine the two, put Decay{Rule: …} inside ClipByValue{Rule: …}: gradients are clipped before decay is added.
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

// Clip sets clipped to the elements of g, clamped to the limits. Both may be the same slice.
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

// check returns what is wrong with the settings, as a [Checker] does.
func (c ClipByValue) check() error {
	if !(c.limit() < c.Max) {
		return fmt.Errorf("optimizer: clip by value: Min is %v and Max is %v: Max must be above", c.Min, c.Max)
	}
	return nil
}
