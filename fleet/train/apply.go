package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/runs"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// saved is the model for -predict and -eval: that of -load, or the one that the job has left below -out.
func (c *Options) saved() (dir string, err error) {
	if c.Load == "" && c.Out == "" {
		return "", usage{errors.New("-predict and -eval take a saved model: name it with -load, or the directory " +
			"that training left with -out")}
	}
	return cmp.Or(c.Load, files.Join(c.Out, "model")), nil
}

// predictFiles is a program with -predict: it writes the outputs of a saved model for rows of files, as [Predict] does.
// It reads them by the model's format, and warns if that is not the program's own.
func predictFiles(ctx context.Context, o *Options, job func() (Job, error)) error {
	dir, err := o.saved()
	if err != nil {
		return err
	}
	if j, err := job(); err == nil && j.Loss != nil {
		other := j.otherColumns(signatureIn(dir), dir, true, "name its own model: these are that one's outputs")
		if other != "" {
			slog.Warn(other)
		}
	}
	m, err := serve.Load(dir)
	if err != nil {
		return err
	}
	paths, err := listed([]string{o.predict})
	if err != nil {
		return err
	}
	rows, err := m.Rows(paths...)
	if err != nil {
		return err
	}
	f, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{})
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = Predict(ctx, f, rows, cmp.Or[io.Writer](o.predictions, os.Stdout), m.Outputs...)
	return err
}

// evalFiles is a program with -eval: it reports how well a saved model predicts rows of files.
func evalFiles(ctx context.Context, o *Options, job func() (Job, error)) error {
	dir, err := o.saved()
	if err != nil {
		return err
	}
	j, err := job()
	if err != nil {
		return err
	}
	s, err := j.check()
	if err != nil {
		return err
	}
	if j.Files.Format == nil {
		return usage{fmt.Errorf("-eval=%s: the job has no Files, whose Format says what becomes of lines", o.eval)}
	}
	if other := j.otherColumns(signatureIn(dir), dir, true, "train a model anew, with another -out"); other != "" {
		return errors.New(other)
	}
	s.Recovery = strategy.Recovery{} // it saves nothing, and resumes from no checkpoint
	f, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{Placements: o.Fleet.Placements})
	if err != nil {
		return err
	}
	defer f.Close()
	opt, err := f.DistributedOptimizer(j.Rule, s)
	if err == nil {
		err = opt.Minimize(j.Loss)
	}
	if err == nil {
		if err = f.Restore(ctx, dir, fleet.RestoreOptions{WeightsOnly: true}); err != nil && o.Load == "" {
			err = fmt.Errorf("%w (-load=%s has all params)", err, files.Join(o.Out, "checkpoint"))
		}
	}
	if err != nil {
		return err
	}
	x := Examination{Loss: j.Loss, Metrics: j.Metrics, Format: j.Files.Format, Paths: []string{o.eval}, By: o.by,
		Importance: o.importance, Seed: o.Seed}
	left, _ := runs.Read(files.Dir(dir)) // there may be none
	x.labels = left.About.Labels
	report, err := x.Run(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(j.output(), "%s: %v", dir, report)
	return err
}
