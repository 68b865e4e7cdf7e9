package nn

import "testing"

// remembering is a keeper that knows of steps before.
type remembering struct {
	*keeper
	number uint64
}

func (c remembering) Made(thread, threads int) (int, uint64) { return 0, c.number }

// TestTurns: executors take turns, and begin where the trainer says.
func TestTurns(t *testing.T) {
	first := func(c remembering) []float32 {
		g := NewGraph(1)
		y := Dropout(g.Parameter(ParameterOptions{Name: "w"}, 64), 0.5)
		c.keeper = newKeeper(t, 0)
		Mean(y).Bind(c)
		a, b := NewExecutor(g), NewExecutor(g)
		out := append([]float32(nil), must(t, a, nil, y)[0].Float32s()...)
		if near(must(t, b, nil, y)[0].Float32s(), out, 0, 0) == nil {
			t.Error("another executor drops in the second step what the first did in the first")
		}
		return out
	}
	if near(first(remembering{number: 4}), first(remembering{}), 0, 0) == nil {
		t.Error("a job that goes on drops what it dropped in its first step")
	}
}
