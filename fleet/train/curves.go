package train

import "io"

// Curves draws how training goes, after each evaluation, as a picture of SVG that any browser shows, on light and on
// dark pages: the training loss of the worker that leads, step by step (of a long job means of several steps), the loss
// on the test rows, and each metric, over the examples that all workers have trained on; with what was drawn before the
// job was started again. A job with a directory for what it leaves has such a picture there, curves.svg.
func Curves(file string) Hooks {
	return rewritten(file, "Curves", func(r *Run, to io.Writer) error { return draw(to, r.panels()) })
}

// panels are what the picture shows: the losses, and each metric by itself, since metrics differ in scale.
func (r *Run) panels() []panel {
	loss := panel{title: "loss", lines: []series{{"train", r.curve.drawn(r.History)}}}
	if test := pointsOf(r.History, EvalLoss); test != nil {
		loss.lines = append(loss.lines, series{"test", test})
	}
	all := []panel{loss}
	for _, n := range r.Job.Metrics {
		all = append(all, panel{title: n.Label(), lines: []series{{"test", pointsOf(r.History, testName(n))}}})
	}
	return all
}
