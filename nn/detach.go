package nn

// Detach is x as it is, through which no gradient passes: what is behind it is not trained by what comes after. So a
// label may come from the model itself, as a teacher's output does. Rows that are looked up behind it alone are read as
// an evaluation reads them.
func Detach(x *Node) *Node { return apply("", detach{}, x) }

type detach struct{}

func (detach) kind() string                    { return "detach" }
func (detach) infer(in []*Node) ([]int, error) { return in[0].shape, wantFloat(in) }
func (detach) forward(c *cell)                 { copy(c.value, c.in[0].value) }
func (detach) backward(*cell)                  {}
