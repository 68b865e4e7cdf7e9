package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

// Worker is the index of a process among the workers and their number, as *fleet.Fleet has them.
type Worker interface {
	WorkerIndex() int
	WorkerNum() int
}

// Exchanger is a worker that can exchange data with the others. *fleet.Fleet is one after InitWorker has returned.
type Exchanger interface {
	Worker
	// AllGatherBytes returns the data of each worker, by its index, once all workers have made the matching call; the
	// entry of a worker that has left the job is nil.
	AllGatherBytes(ctx context.Context, data []byte) ([][]byte, error)
}

// GlobalShuffle gives each worker a random share of the rows that LoadIntoMemory or PreloadIntoMemory has loaded on all
// workers, in random order. Workers exchange rows, and none is lost. If all workers have loaded the same files, no rows
// are sent: each row is assigned to one worker.
//
// If neither has been called, each GlobalShuffle reads FileList itself and replaces the rows of the last. If the list
// is the same on all workers, each worker parses and keeps only its own lines, and needs memory only for them.
//
// Rows that were exchanged can't be got again by one worker alone: where that worker of a job with servers is started
// again, the job goes back to its last checkpoint. If all workers list the same files, nothing is exchanged.
//
// All workers must call it with the same seed; in a job of several processes after InitWorker. Another seed, such as
// the number of the pass, gives other shares. If w is not an [Exchanger], the list must be the same on all workers.
func (d *InMemoryDataset) GlobalShuffle(ctx context.Context, w Worker, seed uint64) error {
	rows, err := d.deal(ctx, w, seed)
	if err != nil {
		return err
	}
	d.loaded, d.shuffled, d.paths = rows, rows, nil
	return d.LocalShuffle(seed)
}

// deal returns this worker's share.
func (d *InMemoryDataset) deal(ctx context.Context, w Worker, seed uint64) (*Dataset, error) {
	x, meets := w.(Exchanger)
	switch {
	case d.held && w.WorkerNum() == 1:
		return d.loaded, nil
	case d.held && !meets:
		return nil, fmt.Errorf("dataset: GlobalShuffle: a %T can't exchange the rows that are in memory: give it the "+
			"fleet", w)
	case d.held:
		return d.dealHeld(ctx, x, seed)
	}
	files, sum := d.files(&d.skips), sha256.New()
	if f, ok := files.source.(*Files); ok && meets {
		f.sum = sum
	}
	own, err := files.RandomShard(seed, w.WorkerIndex(), w.WorkerNum()).Load(ctx)
	if w.WorkerNum() == 1 || !meets {
		return own, err
	}
	m, err := meet(ctx, x, d.card(seed, d.FileList, sum), err)
	switch {
	case err != nil:
		return nil, err
	case m.alike && len(m.living) == w.WorkerNum():
		return own, nil
	case m.alike:
		return m.share(files).Load(ctx)
	}
	all, err := files.Load(ctx)
	return m.exchange(ctx, all, err)
}

// dealHeld is deal for rows that were loaded.
func (d *InMemoryDataset) dealHeld(ctx context.Context, x Exchanger, seed uint64) (*Dataset, error) {
	mine := card{Seed: seed, Columns: fmt.Sprint(d.loaded.Columns())}
	if d.paths != nil {
		sum := sha256.New()
		tableOf(d.loaded).writeTo(sum)
		mine = d.card(seed, d.paths, sum)
	}
	mine.Files = tableOf(d.loaded).files
	m, err := meet(ctx, x, mine, nil)
	if err != nil {
		return nil, err
	}
	if m.alike {
		return m.share(d.loaded).Load(ctx)
	}
	return m.exchange(ctx, d.loaded, nil)
}

// card describes this worker's files and rows.
func (d *InMemoryDataset) card(seed uint64, paths []string, sum hash.Hash) card {
	fmt.Fprintf(sum, "held %v, of %q", d.held, paths)
	return card{Seed: seed, Columns: fmt.Sprint(d.files(nil).Columns()), Files: paths,
		Print: fmt.Sprintf("%x", sum.Sum(nil))}
}

// tableOf returns the table of loaded rows.
func tableOf(d *Dataset) *Table { return d.source.(*view).Indexed.(tableSource).Table }

// writeTo writes the rows for a checksum.
func (t *Table) writeTo(sum io.Writer) {
	var b []byte
	for r := range t.rows {
		b = t.appendRow(b[:0], r)
		sum.Write(b)
	}
}

// card describes a worker's rows to the others, before they shuffle.
type card struct {
	Seed    uint64
	Columns string
	Files   []string // to which rows refer by number
	Print   string   // of this worker's files and rows; "" differs from every other
	Err     string   // why this worker has no rows to send
}

// meeting is a group of workers that shuffle their rows together.
type meeting struct {
	x      Exchanger
	seed   uint64
	living []int            // workers that have not left the job
	files  map[int][]string // by worker
	alike  bool             // all workers have the same rows
}

// meet sends this worker's card, and checks the others'.
func meet(ctx context.Context, x Exchanger, mine card, failed error) (*meeting, error) {
	if failed != nil {
		mine.Err = failed.Error()
	}
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("dataset: GlobalShuffle: %w", err)
	}
	all, err := x.AllGatherBytes(ctx, data)
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: GlobalShuffle: %w", err)
	}
	m := &meeting{x: x, seed: mine.Seed, files: map[int][]string{}, alike: true}
	for w, data := range all {
		if data == nil {
			continue
		}
		var theirs card
		if err := json.Unmarshal(data, &theirs); err != nil {
			return nil, fmt.Errorf("dataset: GlobalShuffle: worker %d is at another call: %w", w, err)
		}
		if err := mine.fits(theirs, x.WorkerIndex(), w); err != nil {
			return nil, err
		}
		m.living, m.files[w] = append(m.living, w), theirs.Files
		m.alike = m.alike && theirs.Print == mine.Print && mine.Print != ""
	}
	return m, nil
}

// share returns this worker's part of rows that all workers have.
func (m *meeting) share(rows *Dataset) *Dataset {
	return rows.RandomShard(m.seed, slices.Index(m.living, m.x.WorkerIndex()), len(m.living))
}

// fits returns why two workers can't shuffle together, or nil.
func (c card) fits(theirs card, me, w int) error {
	switch {
	case theirs.Err != "":
		return fmt.Errorf("dataset: GlobalShuffle: worker %d has no rows to give: %s", w,
			strings.TrimPrefix(theirs.Err, "dataset: "))
	case theirs.Seed != c.Seed:
		return fmt.Errorf("%w GlobalShuffle: worker %d has the seed %d, worker %d has %d: give the same on all",
			ErrOption, me, c.Seed, w, theirs.Seed)
	case theirs.Columns != c.Columns:
		return fmt.Errorf("%w GlobalShuffle: worker %d has the columns %s, worker %d has %s", ErrOption, me, c.Columns,
			w, theirs.Columns)
	}
	return nil
}
