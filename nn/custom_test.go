package nn

import "errors"

// cubes is Times·x³·w, of x [N D] and w [D]. The gradient of w is added up in a call before it is added to what there is.
type cubes struct{ Times float32 }

func init() {
	if err := RegisterOp[cubes]("nn.cubes"); err != nil {
		panic(err)
	}
}

func (cubes) Shape(in [][]int) ([]int, error) {
	if len(in) != 2 || !equalShapes(in[0], in[1]) {
		return nil, errors.New("two inputs of the same dimensions are needed")
	}
	return in[0], nil
}

func (o cubes) Forward(c *OpCall) {
	x, w := c.In[0].Value, c.In[1].Value
	cubed := c.Keep(len(x) + len(w))
	for i, v := range x {
		cubed[i] = o.Times * v * v * v
		c.Out.Value[i] = cubed[i] * w[i%len(w)]
	}
}

func (o cubes) Backward(c *OpCall) {
	x, w, g := c.In[0], c.In[1], c.Out.Grad
	if x.Grad != nil {
		for i, v := range x.Value {
			x.Grad[i] += g[i] * 3 * o.Times * v * v * w.Value[i%len(w.Value)]
		}
	}
	if w.Grad != nil {
		kept := c.Keep(len(x.Value) + len(w.Value))
		sums := kept[len(x.Value):]
		clear(sums)
		for i, cubed := range kept[:len(x.Value)] {
			sums[i%len(sums)] += g[i] * cubed
		}
		for j, s := range sums {
			w.Grad[j] += s
		}
	}
}
