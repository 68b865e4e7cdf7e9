package train

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/stats"
)

// shown is the progress of training for a page of this process; a published value does not change.
type shown struct {
	now    atomic.Pointer[stats.Training]
	job    *Job
	points int // of the curve
}

// mostMarks is the largest number of marks that are shown.
const mostMarks = 100

// attach makes pages show the training from now on.
func (s *shown) attach(f *fleet.Fleet, c *curve, history []Evaluation) {
	if n := len(c.Points); n > 0 && !slices.Contains(c.Again, c.Points[n-1][0]) {
		c.Again = append(c.Again[max(0, len(c.Again)-mostMarks):], c.Points[n-1][0])
	}
	s.publish(c, history)
	f.ShowTraining(func() stats.Training { return *s.now.Load() })
}

// publish updates what is shown, with the same panels as the picture.
func (s *shown) publish(c *curve, history []Evaluation) {
	t := &stats.Training{Epochs: s.job.Epochs}
	for _, at := range c.Again {
		t.Marks = append(t.Marks, stats.Mark{At: float64(at), Kind: "restart", Text: "started again"})
	}
	for i, p := range s.job.panels(c, history) {
		falls := i == 0 || s.job.Metrics[i-1].Falls()
		for _, l := range p.lines {
			t.Curves = append(t.Curves, curveOf(p.title, l, falls))
		}
	}
	for _, e := range history[max(0, len(history)-mostMarks):] {
		if e.End {
			t.Marks = append(t.Marks, stats.Mark{At: float64(e.Examples), Kind: "epoch",
				Text: fmt.Sprintf("epoch %d", e.Epoch)})
		}
	}
	s.points = len(c.Points)
	s.now.Store(t)
}

// curveOf is a line of the picture. A line of evaluations has a best point.
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
