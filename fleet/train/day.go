package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/nn"
)

// dayFacts are what all workers have found of a day, and what they have evaluated before they trained on it.
type dayFacts struct {
	Epoch   int               `json:"epoch"`
	Rows    map[int]int       `json:"rows,omitempty"` // by worker
	Of      int               `json:"of,omitempty"`   // so many workers
	Bad     int               `json:"bad_lines,omitempty"`
	First   string            `json:"first_bad_line,omitempty"`
	Damaged map[string]string `json:"damaged,omitempty"`
	Before  *Evaluation       `json:"before,omitempty"`
	Slices  []slice           `json:"slices,omitempty"`
}

// rowsOf is the number of a worker's rows of the day of an epoch, 0 if it is not known.
func (d *days) rowsOf(epoch, worker int) int {
	if n, known := d.facts.Rows[worker]; known && d.facts.Epoch == epoch && d.facts.Of == d.workers {
		return n
	}
	return d.counts[[2]int{epoch, worker}]
}

// countRows has the numbers of rows be known that an evaluation counts, of days that others ended without a worker.
func (r *Run) countRows(ctx context.Context, owed []epoch.Span) error {
	for _, s := range owed {
		for e := s.From; e < s.To; e++ {
			_, mine := r.shares.past[e]
			if mine && s.Worker == r.Fleet.WorkerIndex() || r.days.rowsOf(e, s.Worker) > 0 {
				continue
			}
			_, err := r.days.load(ctx, r.Job, e, s.Worker, r.Fleet.WorkerNum())
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				slog.Warn("train: the rows that a lost worker has trained of a day are not counted", "worker", s.Worker,
					"error", err)
			}
		}
	}
	return nil
}

// rows is the number of all rows.
func (f *dayFacts) rows() (n int) {
	for _, rows := range f.Rows {
		n += rows
	}
	return n
}

// label names the day of an epoch in lines about it.
func (d *days) label(epoch int) string {
	if e, err := d.of(epoch); err == nil {
		return "day " + e.Name
	}
	return fmt.Sprintf("day number %d", epoch+1)
}

// loadDay reads this worker's share of the day of its epoch.
func (r *Run) loadDay(ctx context.Context) (err error) {
	d, worker := r.days, r.Fleet.WorkerIndex()
	if d.now == nil || d.now.epoch != r.Epoch || d.now.worker != worker {
		if d.now, err = d.load(ctx, r.Job, r.Epoch, worker, r.Fleet.WorkerNum()); err != nil {
			return err
		}
	}
	r.shares.train = d.now.rows
	return nil
}

// beginDay reads the day, and evaluates it before the first step, unless that was done.
func (r *Run) beginDay(ctx context.Context, t *epoch.Told) error {
	if err := r.loadDay(ctx); err != nil || t.Alone {
		return err
	}
	if t.Middles == 0 {
		if err := r.middle(ctx, nn.TrainResult{}); err != nil {
			return err
		}
	}
	r.readAhead(ctx)
	return nil
}

// judges sets the rows of an evaluation: those of this worker's share of the day before it trains on them, else none.
func (t *tests) judges(before bool) {
	t.rows = nil
	if before {
		t.rows = t.days.now.rows
		if c := t.constant; c != nil {
			c.mine = nil
		}
	}
}

// judged takes what all workers have found of a day. More damage than the job permits ends it on all of them.
func (r *Run) judged(ctx context.Context, m *epoch.Made, e Evaluation, shares []share) (err error) {
	f := dayFacts{Epoch: m.Epoch, Rows: map[int]int{}, Damaged: map[string]string{}, Before: &e}
	for _, s := range shares {
		if s.Found == nil {
			continue
		}
		f.Rows[s.Found.Worker], f.Of = s.Found.Rows, s.Found.Of
		f.Bad, f.First = f.Bad+s.Found.Bad, cmp.Or(f.First, s.Found.First)
		maps.Copy(f.Damaged, s.Found.Damaged) // of few files each worker has a share of each
	}
	if f.Slices, err = r.tests.joinSlices(shares); err != nil {
		return err
	}
	d := r.days
	d.facts = f
	r.tests.constant.add(shares)
	var wrong []string
	if len(f.Damaged) > d.BadFiles {
		file := slices.Min(slices.Collect(maps.Keys(f.Damaged)))
		wrong = append(wrong, fmt.Sprintf("%d files are damaged, and Days.BadFiles is %d: the first is %s: %s",
			len(f.Damaged), d.BadFiles, file, f.Damaged[file]))
	}
	if f.Bad > d.SkipBad {
		wrong = append(wrong, fmt.Sprintf("%d lines are bad, and Days.SkipBad is %d: the first is %s", f.Bad, d.SkipBad,
			f.First))
	}
	if len(wrong) > 0 {
		return r.shares.refuse(ctx, errors.New("train: "+r.label()+": "+strings.Join(wrong, "; ")))
	}
	return nil
}
