package train

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/fleet/stats"
)

// shown is how training goes, as a page of this process shows it: what is there is not changed any more.
type shown struct {
	now    atomic.Pointer[stats.Training]
	points int // of the curve
	again  []stats.Mark
}

// mostMarks are shown of very many epochs.
const mostMarks = 100

// show has pages show the run from now on.
func (r *Run) show() {
	if n := len(r.curve.Points); n > 0 {
		r.shown.again = []stats.Mark{{At: float64(r.curve.Points[n-1][0]), Kind: "restart", Text: "started again"}}
	}
	r.publish()
	r.Fleet.ShowTraining(func() stats.Training { return *r.shown.now.Load() })
}

// publish makes what is shown anew, of the same panels as the picture's.
func (r *Run) publish() {
	t := &stats.Training{Epochs: r.Job.Epochs, Marks: slices.Clone(r.shown.again)}
	for i, p := range r.panels() {
		falls := i == 0 || r.Job.Metrics[i-1].Falls()
		for _, l := range p.lines {
			t.Curves = append(t.Curves, curveOf(p.title, l, falls))
		}
	}
	for _, e := range r.History[max(0, len(r.History)-mostMarks):] {
		if e.End {
			t.Marks = append(t.Marks, stats.Mark{At: float64(e.Examples), Kind: "epoch",
				Text: fmt.Sprintf("epoch %d", e.Epoch)})
		}
	}
	r.shown.points = len(r.curve.Points)
	r.shown.now.Store(t)
}

// curveOf is a line of the picture. One of evaluations has a best point.
func curveOf(panel string, l series, falls bool) stats.Curve {
	c := stats.Curve{Panel: panel, Name: l.name}
	for _, p := range l.points {
		x, y := float64(p[0]), float64(p[1])
		if c.Points = append(c.Points, [2]float64{x, y}); l.name == "test" &&
			(c.Best == nil || y < c.Best[1] == falls && y != c.Best[1]) {
			c.Best = []float64{x, y}
		}
	}
	return c
}
