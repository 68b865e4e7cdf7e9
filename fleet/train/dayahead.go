package train

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/files"
)

// ahead is a worker's share of what may be the next day, read while it trains. No fact depends on it: it counts if the
// day is found to have the same files, and those that were read the same bytes.
type ahead struct {
	stop context.CancelFunc
	done chan struct{}
	name atomic.Pointer[string] // of the day that is read
	rows *dayRows               // nil without one; set when done is closed
}

// readAhead begins to read what may be the next day.
func (r *Run) readAhead(ctx context.Context) {
	d, worker, workers := r.days, r.Fleet.WorkerIndex(), r.Fleet.WorkerNum()
	if d.next != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	a := &ahead{stop: stop, done: make(chan struct{})}
	next := &days{Days: d.Days, dir: d.dir, begun: d.begun, known: slices.Clone(d.known), pass: d.pass}
	d.next = a
	go func() {
		defer close(a.done)
		a.rows = next.guess(ctx, r.Job, worker, workers, &a.name)
	}()
}

// guess waits for the next day, and reads it; nil if that fails, which then fails again for all to see.
func (d *days) guess(ctx context.Context, j *Job, worker, workers int, name *atomic.Pointer[string]) *dayRows {
	for pause := lookPause; ; pause = min(2*pause, time.Minute) { // which each worker makes
		day, paths, err := d.find(ctx)
		if err == nil && day == nil {
			err = awake.Rest(ctx, pause)
		}
		if err != nil {
			return nil
		}
		if day == nil {
			continue
		}
		name.Store(&day.Name)
		l := &dayList{Name: day.Name}
		for _, path := range paths {
			st, err := files.Stat(path)
			if err != nil {
				return nil
			}
			l.Files = append(l.Files, dayFile{Path: path, Bytes: st.Size()})
		}
		mine, _ := l.share(worker, workers)
		for i, f := range l.Files {
			if slices.Contains(mine, f) {
				if l.Files[i], err = sealed(ctx, f.Path, f.Bytes); err != nil {
					return nil
				}
			}
		}
		rows, err := j.read(ctx, l, worker, workers)
		if err != nil {
			return nil
		}
		return rows
	}
}

// take returns what was read of a day, nil if that was another, or another share of it.
func (a *ahead) take(l *dayList) *dayRows {
	if a == nil {
		return nil
	}
	if name := a.name.Load(); name == nil || *name != l.Name {
		a.stop()
	}
	<-a.done
	a.stop()
	same := func(read, is dayFile) bool { return read == is || read == dayFile{Path: is.Path, Bytes: is.Bytes} }
	if r := a.rows; r != nil && r.list.Name == l.Name && slices.EqualFunc(r.list.Files, l.Files, same) {
		return r
	}
	return nil
}
