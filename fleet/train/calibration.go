package train

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
)

// Calibration draws a calibration curve after each evaluation, as SVG: predicted against observed rates on the test
// rows of all workers, in ten buckets of equal size, for each binary loss, with the expected calibration error. On the
// dashed line a model is calibrated; below it, its predictions are too high. A job without test rows or a binary loss
// has no such picture, and removes that of an earlier job. A job with an output directory writes it there, as
// calibration.svg.
func Calibration(file string) Hooks {
	h := rewritten(file, "Calibration", func(r *Run, to io.Writer) error {
		var all []panel
		for _, t := range r.tests.judged {
			name := t.Name()
			if fields := places(r.Job.Files.Format)[name]; len(fields) == 1 {
				name = fields[0] // of the files, which may have the column from another
			}
			all = append(all, calibrationOf(t, name, r.label()))
		}
		return draw(to, "calibration", all)
	})
	write := h.Evaluated
	h.Evaluated = func(ctx context.Context, r *Run, e Evaluation) error {
		_, tested := e.Values[EvalLoss]
		switch {
		case tested && len(r.tests.judged) > 0:
			return write(ctx, r, e)
		case len(r.History) == 1 && r.Leads():
			if err := remove(file); err != nil {
				slog.Warn("train: the picture of an earlier job could not be removed", "file", file, "error", err)
			}
		}
		return nil
	}
	return h
}

// calibrationOf is a panel of predicted and observed rates.
func calibrationOf(t *verdict.Tally, name, when string) panel {
	buckets, off := t.Calibration()
	p := panel{title: name + ": observed by predicted", under: "predicted, " + when, straight: true}
	var points []point
	rows := 0.0
	for _, b := range buckets {
		rows += b.Rows
		points = appendPoint(points, b.Predicted, b.Observed)
	}
	p.note = fmt.Sprintf("error %.3g, %.0f rows in %d points", off, rows, len(points))
	p.lines = []series{{"test", points}}
	return p
}
