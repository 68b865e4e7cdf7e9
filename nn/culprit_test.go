package nn

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// picky is a trainer that refuses, or takes, whatever it is given.
type picky struct {
	still
	err error
}

func (p *picky) Open([]*optimizer.Param) (optimizer.Session, error) { return p, nil }
func (p *picky) End(context.Context, *optimizer.Step) error         { return p.err }

// TestCulprit: what was fed is named if it is not finite, the loss depends on it and so do the gradients that were refused; for any
// other error it is not.
func TestCulprit(t *testing.T) {
	refused, inf := errors.New("refused"), float32(math.Inf(-1))
	for name, c := range map[string]struct {
		x, unused, click []float32
		want             string
	}{
		"good":         {[]float32{1, 2, 3, 4}, []float32{1, 2}, []float32{0, 1}, "refused"},
		"not used":     {[]float32{1, 2, 3, 4}, []float32{1, inf}, []float32{0, 1}, "refused"},
		"infinity":     {[]float32{1, 2, inf, 4}, []float32{inf, 2}, []float32{0, 1}, `nn: feed "x", row 1, column 0 is -Inf: refused`},
		"of the count": {[]float32{1, 2, 3, 4}, []float32{1, 2}, []float32{0, inf}, `nn: feed "click", row 1, column 0 is -Inf: refused`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGraph(1)
			x, unused := g.Input("x", 2), g.Input("unused", 1)
			ids := Embedding(g.IDs("id", 1), EmbeddingOptions{Dim: 1, Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 1}}, Click: g.Input("click", 1)})
			loss := Mean(Linear(Concat(x, ids), 1, LinearOptions{}))
			loss.Bind(&picky{err: refused})
			feed := batchOf{"x": floats([]int{2, 2}, c.x...), "unused": floats([]int{2, 1}, c.unused...), "id": int64sOf([]int{2, 1}, 1, 2),
				"click": floats([]int{2, 1}, c.click...)}
			_, err := NewExecutor(g).Train(t.Context(), feed, unused)
			if !errors.Is(err, refused) || unplaced(err) != c.want {
				t.Errorf("got %q, want %q", err, c.want)
			}
			if !strings.Contains(err.Error(), "refused") {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// TestFiniteGradientsHaveNoCulprit: an infinite label makes the loss infinite and gradients that are numbers, which no trainer refuses for it:
// its error is about something else.
func TestFiniteGradientsHaveNoCulprit(t *testing.T) {
	g := NewGraph(1)
	loss := Mean(SmoothL1(Linear(Concat(g.Input("x", 1), Embedding(g.IDs("id", 1), EmbeddingOptions{Dim: 1})), 1, LinearOptions{}), g.Input("label", 1), 1))
	loss.Bind(&picky{err: errors.New("server 1 is gone")})
	feed := batchOf{"x": floats([]int{1, 1}, 2), "id": int64sOf([]int{1, 1}, 3), "label": floats([]int{1, 1}, float32(math.Inf(1)))}
	if _, err := NewExecutor(g).Train(t.Context(), feed); err == nil || err.Error() != "server 1 is gone" {
		t.Errorf("got %v", err)
	}
}

// TestComputedCulprit: the op whose result is not finite is named, with the row and what it was computed of; weights that are not
// finite are no op's fault.
func TestComputedCulprit(t *testing.T) {
	refused := errors.New("refused")
	for want, op := range map[string]func(x, y *Node) *Node{
		`nn: log "log_0", row 1, column 0 is NaN of -3: refused`:          func(x, _ *Node) *Node { return Log(x) },
		`nn: sqrt "sqrt_0", row 1, column 0 is NaN of -3: refused`:        func(x, _ *Node) *Node { return Sqrt(x) },
		`nn: divide "divide_0", row 2, column 0 is +Inf of 4, 0: refused`: func(x, y *Node) *Node { return Divide(Abs(x), y) },
		"refused": func(x, _ *Node) *Node { return Abs(x) },
	} {
		g := NewGraph(1)
		w := g.Parameter(ParameterOptions{}, 1, 1)
		if want == "refused" {
			w = g.Parameter(ParameterOptions{Init: optimizer.Constant{Value: float32(math.NaN())}}, 1, 1)
		}
		loss := Mean(MatMul(op(g.Input("x", 1), g.Input("y", 1)), w))
		loss.Bind(&picky{err: refused})
		_, err := NewExecutor(g).Train(t.Context(), batchOf{"x": floats([]int{3, 1}, 2, -3, 4), "y": floats([]int{3, 1}, 1, 2, 0)})
		if err == nil || unplaced(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
