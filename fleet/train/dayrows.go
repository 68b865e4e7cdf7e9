package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/files"
)

// dayRows are a worker's share of the rows of a day.
type dayRows struct {
	epoch, worker int
	list          *dayList
	delta         int // at which of its parts this worker was last
	table         *dataset.Table
	rows          *dataset.Dataset // of the table
	by            valued           // of Days.By, nil without
	found         found
}

// found is what a worker has found of its share of a day: lines that were left out, of which First is one, and files,
// with the reasons.
type found struct {
	Worker, Of int // of the share
	Rows, Bad  int
	First      string
	Damaged    map[string]string
}

// load reads a worker's share of the day of an epoch, unless it was read ahead.
func (d *days) load(ctx context.Context, j *Job, epoch, worker, workers int) (*dayRows, error) {
	e, err := d.of(epoch)
	if err != nil {
		return nil, err
	}
	l, err := d.list(ctx, epoch)
	if e.Name == j.passOver {
		slog.Warn("train: the rest of a day is passed over, as -pass_over says", "day", e.Name)
		l, err = &dayList{Name: e.Name}, nil
	}
	if err != nil {
		return nil, err
	}
	r := d.next.take(l)
	if d.next = nil; r == nil {
		r, err = j.read(ctx, l, worker, workers)
	}
	if err == nil {
		r.epoch, r.worker, r.list = epoch, worker, l
		maps.Copy(r.found.Damaged, l.Altered)
		d.counts[[2]int{epoch, worker}] = r.found.Rows
	}
	return r, err
}

// read reads a worker's share of a day.
func (j *Job) read(ctx context.Context, l *dayList, worker, workers int) (*dayRows, error) {
	r := &dayRows{list: l, found: found{Worker: worker, Of: workers, Damaged: map[string]string{}}}
	format, _, part, err := parted(j.Files.withLabels(j.Loss).Format, j.sliceBy())
	if err != nil {
		return nil, err
	}
	columns, err := format.Columns()
	if err != nil {
		return nil, err
	}
	all, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	mine, lines := l.share(worker, workers)
	share := [2]int{0, 1}
	if lines {
		share = [2]int{worker, workers}
	}
	for _, f := range mine {
		t, wrong, err := r.found.read(ctx, l.Name, f, format, share)
		var head *dataset.LineError // other lines are left out
		switch {
		case err != nil:
			return nil, err
		case errors.As(wrong, &head) && head.Field == strconv.Quote(j.sliceBy()):
			return nil, fmt.Errorf("train: Days.By, or -by, names a field that a file of day %s lacks: %w", l.Name,
				wrong)
		case wrong != nil:
			r.found.Damaged[f.Path] = wrong.Error()
		case all.Len() == 0:
			all = t
		default:
			rows := make([]int, t.Len())
			for i := range rows {
				rows[i] = i
			}
			if err := all.Append(t, rows...); err != nil {
				return nil, err
			}
		}
	}
	r.found.Rows, r.table, r.rows = all.Len(), all, dataset.FromTable(all).MayBeEmpty()
	if j.sliceBy() != "" {
		r.by = part.valued(all)
	}
	return r, nil
}

// share are the files of a worker, or, with lines, files of whose lines each takes its share.
func (l *dayList) share(worker, workers int) (mine []dayFile, lines bool) {
	if len(l.Files) < 4*workers {
		return l.Files, workers > 1
	}
	largest := slices.Clone(l.Files)
	slices.SortStableFunc(largest, func(a, b dayFile) int { return cmp.Compare(b.Bytes, a.Bytes) })
	has := make([]int64, workers)
	for _, f := range largest {
		w := slices.Index(has, slices.Min(has))
		if has[w] += f.Bytes + 1; w == worker {
			mine = append(mine, f)
		}
	}
	slices.SortFunc(mine, func(a, b dayFile) int { return cmp.Compare(a.Path, b.Path) })
	return mine, false
}

// read reads the rows of a file, or says what is wrong with it: it is damaged if it has the bytes that it had when the
// day began, and can't be read by its format.
func (d *found) read(ctx context.Context, day string, f dayFile, format dataset.Format,
	share [2]int) (t *dataset.Table, wrong, err error) {
	bad, first := 0, ""
	of := &dataset.Files{Paths: []string{f.Path}, Format: format, FS: pinned{f, ctx}, SkipBad: math.MaxInt,
		OnBad: func(e *dataset.LineError) {
			bad++
			first = cmp.Or(first, e.Error())
		}}
	t, wrong = dataset.New(of).Shard(share[0], share[1]).MayBeEmpty().Table(ctx)
	err = f.changed(ctx)
	if files.Unreadable(wrong) {
		err = wrong
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, files.Ended(ctx)
	case err != nil:
		return nil, nil, fmt.Errorf("train: day %s has begun with %s: %w; put it back as it was, or pass over the "+
			"rest of the day with -pass_over=%s on all workers", day, f.Path, err, day)
	case wrong == nil:
		d.Bad, d.First = d.Bad+bad, cmp.Or(d.First, first)
	}
	return t, wrong, nil
}
