package train

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
)

// Calibration draws, after each evaluation, what was predicted of the test rows of all workers beside what was
// observed: ten buckets of as many rows, for each binary loss, as a picture of SVG like that of [Curves]. On the dashed
// line a model is right; below it, it promises too much. Beside it stands the expected calibration error. A job without
// test rows or a binary loss has no such picture. A job with a directory for what it leaves has it there,
// calibration.svg.
func Calibration(file string) Hooks {
	h := rewritten(file, "Calibration", func(r *Run, to io.Writer) error {
		var all []panel
		for _, t := range r.tests.judged {
			all = append(all, calibrationOf(t, r.label()))
		}
		return draw(to, "calibration", all)
	})
	write := h.Evaluated
	h.Evaluated = func(ctx context.Context, r *Run, e Evaluation) error {
		if _, tested := e.Values[EvalLoss]; !tested || len(r.tests.judged) == 0 {
			return nil
		}
		return write(ctx, r, e)
	}
	return h
}

// calibrationOf is a panel of what was predicted and observed.
func calibrationOf(t *verdict.Tally, when string) panel {
	buckets, off := t.Calibration()
	p := panel{title: t.Label.Label() + ": observed by predicted", under: "predicted, " + when, straight: true,
		note: fmt.Sprintf("error %.3g", off)}
	var points []point
	for _, b := range buckets {
		points = appendPoint(points, b.Predicted, b.Observed)
	}
	p.lines = []series{{"test", points}}
	return p
}
