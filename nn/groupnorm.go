package nn

import "fmt"

// GroupNorm makes groups of an example's channels, the second dimension of x, have mean 0 and variance 1 over all their
// positions, then scales and shifts each channel (Wu and He, 2018). With a group for each channel it is instance norm.
// It has no moving averages: evaluations and small batches see what training does.
func GroupNorm(x *Node, groups int, o NormOptions) *Node {
	if x == nil || x.bad {
		return apply("", layerNorm{}, x)
	}
	g := x.graph
	if err := o.ofGroups(x, groups); err != nil {
		return g.newNode(o.Name, layerNorm{}, x).spoil(fmt.Errorf("GroupNorm: %w", err))
	}
	o = o.withDefaults(g, "group_norm")
	channel := make([]int, len(x.shape)-1) // the shape of a number for each channel, repeated to its positions
	for i := range channel {
		channel[i] = 1
	}
	channel[0] = x.shape[1]
	scale, shift := g.scaleAndShift(o.Name, x.shape[1])
	normal := apply(o.Name+".norm", layerNorm{Epsilon: o.Epsilon, Axis: 2}, Reshape(x, groups, x.perExample()/groups))
	normal = Reshape(normal, x.shape[1:]...)
	return apply(o.Name, add{}, Multiply(normal, Reshape(scale, channel...)), Reshape(shift, channel...))
}

// ofGroups returns an error for options that group norm does not support.
func (o NormOptions) ofGroups(x *Node, groups int) error {
	switch {
	case o.Momentum != 0:
		return fmt.Errorf("Momentum is %v, but group norm has no moving averages: leave it out", o.Momentum)
	case o.Axis != 0:
		return fmt.Errorf("Axis is %d, but group norm is over channels: leave it out", o.Axis)
	case len(x.shape) < 2 || x.shape[0] != batch || groups < 1 || x.shape[1]%groups != 0:
		return fmt.Errorf("input %v has no channels that make %d groups: shape [N C …] is needed", x, groups)
	}
	return nil
}
