package nn

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

var errOfOp = errors.New("this op gives up")

// failing is x, and panics with an error where an element is more than 1, forward or backward. Calls wait for each
// other, so that each of three has a goroutine of its own.
type failing struct {
	back bool
	meet *sync.WaitGroup
}

func (failing) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (o failing) Forward(c *OpCall) {
	if copy(c.Out.Value, c.In[0].Value); !o.back {
		o.look(c.In[0].Value)
	}
}

func (o failing) Backward(c *OpCall) {
	if o.back {
		o.look(c.In[0].Value)
	}
	addTo(c.In[0].Grad, c.Out.Grad)
}

func (o failing) look(x []float32) {
	if o.meet != nil {
		o.meet.Done()
		o.meet.Wait()
	}
	for _, v := range x {
		if v > 1 {
			panic(errOfOp)
		}
	}
}

// TestOpPanics: a panic of an op is the step's error, whichever core it was on and whichever part of the step, says which op it was of and
// where, and leaves an executor that goes on when it was closed.
func TestOpPanics(t *testing.T) {
	for _, cores := range []int{1, 3} {
		for _, back := range []bool{false, true} {
			for row := range 6 {
				t.Run(fmt.Sprint(cores, back, row), func(t *testing.T) {
					onCores(t, cores)
					o := failing{back: back}
					if cores > 1 {
						o.meet = new(sync.WaitGroup)
						o.meet.Add(3)
					}
					g := NewGraph(1)
					x := g.Input("x", 2)
					y := Custom(o, Multiply(x, g.Parameter(ParameterOptions{Name: "w", Init: optimizer.Constant{Value: 1}}, 2)))
					loss := Mean(y.Named("fragile"))
					loss.Bind(still{})
					e := NewExecutor(g)
					numbers := make([]float32, 12)
					numbers[2*row] = 2
					_, err := e.Train(t.Context(), batchOf{"x": floats([]int{6, 2}, numbers...)}, loss)
					if !errors.Is(err, errOfOp) || !errors.Is(err, ErrOpPanicked) {
						t.Fatalf("a step has error %v, want the op's", err)
					}
					for _, part := range []string{`custom "fragile"`, "oppanic_test.go", errOfOp.Error(), "failing.look"} {
						if !strings.Contains(err.Error(), part) {
							t.Errorf("the error does not say %s: %v", part, err)
						}
					}
					if err := e.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					if numbers[2*row] = 1; cores > 1 {
						o.meet.Add(3)
					}
					must(t, e, batchOf{"x": floats([]int{6, 2}, numbers...)}, loss)
				})
			}
		}
	}
}

// TestUnitsPanic: so is that of a layer's units, whichever of them it was.
func TestUnitsPanic(t *testing.T) {
	onCores(t, 3)
	g := NewGraph(1)
	c := &cell{node: g.Input("x", 1)}
	for bad := range 8 {
		var w cores
		w.ready(1)
		w.run(c, badUnit(bad), onward, 8, 1)
		err := w.err()
		if _, is := errors.AsType[runtime.Error](err); !is || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("unit %d: %v, want a runtime error and whose it is", bad, err)
		}
	}
}

type badUnit int

func (b badUnit) units(_ *cell, from, _, _ int) {
	if from == int(b) {
		_ = make([]int, 1)[from+1]
	}
}
