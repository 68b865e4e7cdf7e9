package train

import (
	"fmt"
	"io"

	"github.com/gofleet/gofleet/nn"
)

// Curves draws the progress of training after each evaluation, as SVG for light and dark pages: the training loss of
// the leading worker by step (for a long job, means of several steps), the loss on the test rows, and each metric,
// over the examples that all workers have trained on. A restarted job continues the curves. Thin lines mark the ends
// of epochs, dashed ones where the job was started again, and a ring the best evaluation. First points that would
// squeeze the others stand at the edge. Titles have what a constant prediction has, as "always". A job with an output
// directory writes such a picture there, as curves.svg.
func Curves(file string) Hooks {
	return rewritten(file, "Curves", func(r *Run, to io.Writer) error {
		return draw(to, "training curves", r.Job.panels(&r.curve, r.History))
	})
}

// panels are the panels of the picture: the losses, and each metric by itself, since metrics differ in scale.
func (j *Job) panels(c *curve, history []Evaluation) []panel {
	loss := panel{title: "loss", lines: []series{{"train", c.drawn(history)}}}
	if test := pointsOf(history, EvalLoss); test != nil {
		loss.lines = append(loss.lines, series{"test", test})
	}
	all := []panel{loss}
	for _, n := range j.Metrics {
		lines := []series{{"test", pointsOf(history, testName(n))}}
		if trained := pointsOf(history, trainName(n)); trained != nil {
			lines = append([]series{{"train", trained}}, lines...)
		}
		all = append(all, panel{title: n.Label(), lines: lines})
	}
	for i := range all {
		name := EvalLoss
		if i > 0 {
			name = testName(j.Metrics[i-1])
		}
		all[i].again = c.Again
		all[i].mark(history, all[i].falls(j.Metrics))
		if always := pointsOf(history, ofConstant+name); always != nil { // no line, which may lie far outside
			all[i].title += fmt.Sprintf(" (always %.4g)", always[len(always)-1][1])
		}
	}
	return all
}

// falls reports whether smaller values of a panel are better.
func (p *panel) falls(metrics []*nn.Node) bool {
	for _, n := range metrics {
		if n.Label() == p.title && p.title != "loss" {
			return n.Falls()
		}
	}
	return true
}

// mark marks the ends of epochs, and the best of the evaluations that are drawn.
func (p *panel) mark(history []Evaluation, falls bool) {
	for _, e := range history {
		if e.End {
			p.epochs = append(p.epochs, float64(e.Examples))
			p.under = fmt.Sprintf("examples, in %d epochs", e.Epoch)
		}
	}
	if len(p.epochs) > maxEpochs {
		p.epochs = nil
	}
	for _, l := range p.lines {
		if l.name != "test" {
			continue
		}
		for i, at := range l.points {
			if b := p.best; b == nil || falls && at[1] < b[1] || !falls && at[1] > b[1] {
				p.best = &l.points[i]
			}
		}
	}
}

// maxEpochs is the number of ends of epochs that are marked; more would hide the curves.
const maxEpochs = 50
