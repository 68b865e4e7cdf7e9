package nn

// Detach is x without a gradient: x and its inputs are not trained through it. So a label may come from the model
// itself, such as a teacher's output. Rows that are looked up only for detached values are read as in an evaluation.
func Detach(x *Node) *Node { return apply("", detach{}, x) }

type detach struct{}

func (detach) kind() string                    { return "detach" }
func (detach) infer(in []*Node) ([]int, error) { return in[0].shape, wantFloat(in) }
func (detach) forward(c *cell)                 { copy(c.value, c.in[0].value) }
func (detach) backward(*cell)                  {}
