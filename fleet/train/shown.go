package train

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/observe"
)

// shown is the progress of training in the status of this process.
type shown struct {
	job    *Job
	worker int
	points int // of the curve
}

// mostMarks is the largest number of marks that are shown.
const mostMarks = 100

// begin shows the training from now on, and marks that it was started again.
func (s *shown) begin(c *curve, history []Evaluation) {
	if n := len(c.Points); n > 0 && !slices.Contains(c.Again, c.Points[n-1][0]) {
		c.Again = append(c.Again[max(0, len(c.Again)-mostMarks):], c.Points[n-1][0])
	}
	s.publish(c, history)
}

// publish updates what is shown, with the same panels as the picture.
func (s *shown) publish(c *curve, history []Evaluation) {
	t := &observe.Training{Epochs: s.job.Epochs}
	for _, at := range c.Again {
		t.Marks = append(t.Marks, observe.Mark{At: float64(at), Kind: "restart", Text: "started again"})
	}
	for i, p := range s.job.panels(c, history) {
		falls := i == 0 || s.job.Metrics[i-1].Falls()
		for _, l := range p.lines {
			t.Curves = append(t.Curves, curveOf(p.title, l, falls))
		}
	}
	for _, e := range history[max(0, len(history)-mostMarks):] {
		if e.End {
			t.Marks = append(t.Marks, observe.Mark{At: float64(e.Examples), Kind: "epoch",
				Text: fmt.Sprintf("epoch %d", e.Epoch)})
		}
	}
	s.points = len(c.Points)
	observe.Trained.Store(s.worker, t)
}

// curveOf is a line of the picture. A line of evaluations has a best point.
func curveOf(panel string, l series, falls bool) observe.Curve {
	c := observe.Curve{Panel: panel, Name: l.name}
	for _, p := range l.points {
		x, y := float64(p[0]), float64(p[1])
		if c.Points = append(c.Points, [2]float64{x, y}); l.name == "test" &&
			(c.Best == nil || y < c.Best[1] == falls && y != c.Best[1]) {
			c.Best = []float64{x, y}
		}
	}
	return c
}
