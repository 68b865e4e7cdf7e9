package nn

import (
	"errors"
	"fmt"
)

// MMoEOptions describe a mixture of experts for several tasks.
type MMoEOptions struct {
	// Name names the layer: its parameters are Name.expert_0.fc_0.w_0, Name.gate_0.w_0 and so on. Empty means mmoe_0
	// and so on.
	Name string
	// Experts is the number of networks that all tasks share, Tasks the number of mixtures.
	Experts, Tasks int
	// Hidden are the sizes of an expert's layers; the last is that of the result.
	Hidden []int
	// Act follows each layer of an expert; nil means ReLU.
	Act func(*Node) *Node
}

// MMoE gives each task a mixture of experts of its own, Σ gᵢ·fᵢ(x), fᵢ being the layers of expert i, and g the Softmax
// of x and weights of the task (Ma et al., 2018). Of x with shape [N D] there is a node of shape [N size] for each
// task.
func MMoE(x *Node, o MMoEOptions) []*Node {
	if missing(x) || o.check() != nil {
		return o.refuse(x)
	}
	if o.Name == "" {
		o.Name = x.graph.free("mmoe")
	}
	if o.Act == nil {
		o.Act = ReLU
	}
	experts := make([]*Node, o.Experts)
	for e := range experts {
		experts[e] = perceptron(x, fmt.Sprintf("%s.expert_%d", o.Name, e), o.Hidden, o.Act, false)
	}
	all := Stack(1, experts...)
	tasks := make([]*Node, o.Tasks)
	for t := range tasks {
		gate := Linear(x, o.Experts, LinearOptions{Name: fmt.Sprintf("%s.gate_%d", o.Name, t), NoBias: true,
			Act: Softmax})
		mixed := MatMul(Reshape(gate, 1, o.Experts), all)
		tasks[t] = apply(fmt.Sprintf("%s.task_%d", o.Name, t), reshape{o.Hidden[len(o.Hidden)-1:]}, mixed)
	}
	return tasks
}

func (o MMoEOptions) check() error {
	if o.Experts < 1 || o.Tasks < 1 || len(o.Hidden) == 0 {
		return errors.New("MMoE needs Experts, Tasks, and Hidden, the sizes of an expert's layers")
	}
	return nil
}

// refuse returns as many nodes as there are tasks, with the error.
func (o MMoEOptions) refuse(x *Node) []*Node {
	tasks := make([]*Node, max(o.Tasks, 1))
	for i := range tasks {
		tasks[i] = apply("", mean{}, x)
	}
	if err := o.check(); !missing(x) {
		tasks[0].spoil(err)
	}
	return tasks
}

// perceptron is linear layers one after the other, each with its activation.
func perceptron(x *Node, name string, sizes []int, act func(*Node) *Node, perPosition bool) *Node {
	for i, size := range sizes {
		x = Linear(x, size, LinearOptions{Name: fmt.Sprintf("%s.fc_%d", name, i), Act: act, PerPosition: perPosition})
	}
	return x
}
