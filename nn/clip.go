package nn

import "fmt"

// Clip limits every element to low … high. Elements on a limit or beyond have no gradient.
func Clip(x *Node, low, high float32) *Node { return apply("", clip{Low: low, High: high}, x) }

type clip struct {
	Low  float32 `json:"low"`
	High float32 `json:"high"`
}

func (clip) kind() string { return "clip" }

func (o clip) infer(in []*Node) ([]int, error) {
	if !(o.Low <= o.High) {
		return nil, fmt.Errorf("the lower limit %v is above the upper, %v", o.Low, o.High)
	}
	return in[0].shape, wantFloat(in)
}

func (o clip) forward(c *cell) {
	c.each(func(x float32) float32 { return min(max(x, o.Low), o.High) })
}

func (o clip) backward(c *cell) {
	c.eachGrad(func(x, _ float32) float32 {
		if x <= o.Low || x >= o.High {
			return 0
		}
		return 1
	})
}
