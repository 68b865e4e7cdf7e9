package train

import (
	"context"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/fleet/train/internal/check"
	"github.com/gofleet/gofleet/nn"
)

// Bounds of a look before training: its time, the rows of a job, those that are looked at and their numbers, the bytes
// of files that are read again, and the dense weights of a job, of which a copy makes steps.
const (
	lookFor              = time.Second
	mostRows, mostLooked = 1_000_000, 100_000
	mostNumbers          = 2_000_000
	mostBytes            = 4 << 20
	mostWeights          = 16_000_000
)

// look warns of what -check would find in rows that are in memory, in the texts of small files, and in some steps on a
// copy of the graph. It is worker 0's, before the first step of a job.
func (r *Run) look(ctx context.Context) error {
	if r.days != nil {
		return nil
	}
	j, width, weights := r.Job, 1, 0
	for _, c := range r.shares.train.Columns() {
		width += c.Width()
	}
	for _, p := range j.Loss.Params() {
		if !p.Embedding {
			weights += p.Size()
		}
	}
	rows, known := r.shares.train.Len()
	again := r.shares.then != nil || r.Epoch > 0 || r.course.lone || r.Fleet.Position().Samples > 0
	if !j.looks || r.Fleet.WorkerIndex() > 0 || again || !known || rows > mostRows || weights > mostWeights {
		return nil
	}
	s, err := j.check()
	if err != nil {
		return err
	}
	of, err := j.looked(s, r.shares.train, r.tests.rows, mostBytes)
	if err != nil {
		return err
	}
	copies := nn.Copy(append([]*nn.Node{j.Loss}, j.Outputs...)...)
	of.Loss, of.Outputs, of.Brief, of.Most = copies[0], copies[1:], true, min(mostLooked, mostNumbers/width)
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	defer func() {
		if p := recover(); p != nil { // by rows that the first step refuses
			slog.Warn("train: the rows could not be looked at", "panic", p)
		}
	}()
	report, _ := check.Look(ctx, of) // it may not come to its end in time
	for _, f := range report.Findings {
		if !f.Fails { // else the first step fails
			slog.Warn("train: "+f.What, "do", f.Do)
		}
	}
	return nil
}
