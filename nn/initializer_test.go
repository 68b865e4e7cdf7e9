package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestInitializers: bounds and deviations by their formulas.
func TestInitializers(t *testing.T) {
	u := func(b float64) optimizer.Initializer { return optimizer.Uniform{Low: float32(-b), High: float32(b)} }
	n := func(d float64) optimizer.Initializer { return optimizer.Normal{Std: float32(d)} }
	tests := []struct {
		init  optimizer.Initializer
		shape []int
		want  optimizer.Initializer
	}{
		{Xavier{}, []int{300, 100}, u(math.Sqrt(6.0 / 400))},
		{Xavier{Normal: true}, []int{300, 100}, n(math.Sqrt(2.0 / 400))},
		{Kaiming{}, []int{300, 100}, u(math.Sqrt(6.0 / 300))},
		{Kaiming{Normal: true}, []int{300, 100}, n(math.Sqrt(2.0 / 300))},
		{FanIn{}, []int{300, 100}, u(math.Sqrt(1.0 / 300))},
		{FanIn{Normal: true}, []int{300, 100}, n(math.Sqrt(1.0 / 300))},
		{Xavier{}, []int{16, 6, 5, 5}, u(math.Sqrt(6.0 / (150 + 400)))},
		{Kaiming{Normal: true}, []int{16, 6, 5, 5}, n(math.Sqrt(2.0 / 150))},
		{Xavier{}, []int{50}, u(math.Sqrt(6.0 / 100))},
		{optimizer.Constant{Value: 3}, []int{300, 100}, optimizer.Constant{Value: 3}},
		{nil, []int{3}, nil},
	}
	for _, test := range tests {
		if got := resolve(test.init, test.shape); got != test.want {
			t.Errorf("%T of %v is %v, want %v", test.init, test.shape, got, test.want)
		}
	}
}

// TestInitializersByPointer: what depends on a shape becomes a value when the layer is built; any other pointer is refused by the
// name of its param.
func TestInitializersByPointer(t *testing.T) {
	check := func(init optimizer.Initializer) error {
		g := NewGraph(1)
		Linear(g.Input("x", 3), 2, LinearOptions{Name: "fc", Init: init})
		return g.Params()[0].Check()
	}
	if err := check(&Xavier{Normal: true}); err != nil {
		t.Error(err)
	}
	if err := check(&optimizer.Normal{Std: 1}); err == nil || !strings.Contains(err.Error(), `"fc.w_0": *optimizer.Normal is a pointer`) {
		t.Errorf("error %v", err)
	}
}

// TestInitializersFill: used by themselves they treat what they fill as a vector.
func TestInitializersFill(t *testing.T) {
	for _, init := range []shaped{Xavier{}, Xavier{Normal: true}, Kaiming{}, Kaiming{Normal: true}, FanIn{Normal: true}, FanIn{}} {
		got, want := make([]float32, 9), make([]float32, 9)
		init.Fill(got, 5)
		init.resolve([]int{9}).Fill(want, 5)
		if err := near(got, want, 0, 0); err != nil || got[0] == 0 {
			t.Errorf("%T: %v (%v)", init, err, got)
		}
	}
}

// TestDefaultInit: weights are Xavier uniform, biases zero, rows of an open table within ±0.05.
func TestDefaultInit(t *testing.T) {
	g := NewGraph(1)
	Linear(g.Input("x", 10), 20, LinearOptions{Name: "fc"})
	Embedding(g.IDs("a"), EmbeddingOptions{Name: "high", Height: 10, Dim: 20})
	Embedding(g.IDs("b"), EmbeddingOptions{Name: "open", Dim: 20})
	xavier := Xavier{}.resolve([]int{10, 20})
	for name, want := range map[string]optimizer.Initializer{
		"fc.w_0": xavier, "fc.b_0": nil, "high": xavier, "open": optimizer.Uniform{Low: -0.05, High: 0.05},
	} {
		if got := g.Node(name).op.(variable).param.Init; got != want {
			t.Errorf("%s starts from %v, want %v", name, got, want)
		}
	}
}
