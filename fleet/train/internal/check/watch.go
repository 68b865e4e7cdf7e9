package check

import (
	"context"
	"math"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// Param is the effect of the steps on a param.
type Param struct {
	Name     string
	Shape    []int
	Table    bool
	Frozen   bool
	Gradient float64 // the largest norm of its gradient in a step
	Norm     float64 // of a dense param's values before the first step
	Moved    float64 // the norm of their change by the steps
	IDs      int     // of a table, in the rows
	Touched  int     // the most ids of a table in a step
	Bytes    int     // of its values and the rule's state; of a table, for all IDs
}

// watch is a trainer in this process that measures gradients.
type watch struct {
	*local.Trainer      // with SetDense, by which executors pass on moving averages
	tolerates      bool // a strategy that skips gradients which are not finite
	params         map[string]*Param
}

// Open implements [optimizer.Trainer].
func (w *watch) Open(params []*optimizer.Param) (optimizer.Session, error) {
	s, err := w.Trainer.Open(params)
	return &watched{Session: s, watch: w, params: params}, err
}

// watched is a session that measures each gradient.
type watched struct {
	optimizer.Session
	watch  *watch
	params []*optimizer.Param
}

// End implements [optimizer.Session].
func (s *watched) End(ctx context.Context, step *optimizer.Step) error {
	if !step.Eval {
		for _, p := range s.params {
			s.watch.sees(p.Name, p.G, len(p.G))
		}
		for _, rows := range step.Rows {
			s.watch.sees(rows.Param.Name, rows.G, rows.Param.Dim())
			s.watch.params[rows.Param.Name].touches(len(rows.IDs))
		}
	}
	return s.Session.End(ctx, step)
}

// sees measures a gradient, in rows of a width, or in one. If the job tolerates them, rows that are not finite are left
// out.
func (w *watch) sees(param string, g []float32, width int) {
	for i := 0; w.tolerates && i < len(g); i += width {
		if n := norm(g[i : i+width]); n-n != 0 {
			clear(g[i : i+width])
		}
	}
	if p := w.params[param]; p != nil {
		p.Gradient = max(p.Gradient, norm(g))
	}
}

func (p *Param) touches(ids int) { p.Touched = max(p.Touched, ids) }

// norm is the Euclidean norm; NaN if an element is NaN.
func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}
