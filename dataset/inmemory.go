package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// InMemoryDataset reads a list of files into memory, where it can shuffle them between epochs. It is the original's
// name and way of working over [Dataset], and like the original's it is used by one goroutine.
//
//	d := &dataset.InMemoryDataset{Format: format, BatchSize: 512, PipeCommand: "./parse"}
//	d.SetFileList(files...)
//	err := d.GlobalShuffle(ctx, f, day) // f is the fleet: this worker reads a random share of all rows
//	for batch, err := range d.Batches() {
//		…
//	}
//	d.ReleaseMemory()
type InMemoryDataset struct {
	FileList []string
	Format   Format
	// BatchSize is the number of rows of a batch; 1 when 0.
	BatchSize int
	// PipeCommand is a command of the shell that every file goes through; see [Files].
	PipeCommand string
	// SkipBad is how many bad lines may be passed over; 0 fails at the first.
	SkipBad int
	// MayBeEmpty lets a pass have no rows, which is [ErrNoRows] by default; see [Dataset.MayBeEmpty].
	MayBeEmpty bool

	loaded   *Dataset
	shuffled *Dataset
	shuffles int
	coming   chan preloaded // under way, nil if nothing is
}

// preloaded is what a PreloadIntoMemory came to.
type preloaded struct {
	rows *Dataset
	err  error
}

// Worker is a process's place among the workers, as *fleet.Fleet knows it.
type Worker interface {
	WorkerIndex() int
	WorkerNum() int
}

// SetFileList names the files of the next LoadIntoMemory.
func (d *InMemoryDataset) SetFileList(files ...string) { d.FileList = files }

// LoadIntoMemory reads all files, in place of what was there.
func (d *InMemoryDataset) LoadIntoMemory(ctx context.Context) error {
	return d.take(d.files().Load(ctx))
}

func (d *InMemoryDataset) files() *Dataset {
	return New(&Files{Paths: d.FileList, Format: d.Format, PipeCommand: d.PipeCommand, SkipBad: d.SkipBad})
}

// take puts rows in the place of those that were there.
func (d *InMemoryDataset) take(rows *Dataset, err error) error {
	if err != nil {
		return err
	}
	d.loaded, d.shuffled = rows, rows
	return nil
}

// PreloadIntoMemory begins to read the files that the list names now, while the rows that are in memory go on being used, until
// WaitPreloadDone, which must be called. A second call before that is an error.
func (d *InMemoryDataset) PreloadIntoMemory(ctx context.Context) error {
	if d.coming != nil {
		return errors.New("dataset: InMemoryDataset.PreloadIntoMemory: one is under way; call WaitPreloadDone first")
	}
	files, coming := d.files(), make(chan preloaded, 1)
	go func() { // ends in WaitPreloadDone, or with ctx
		rows, err := files.Load(ctx)
		coming <- preloaded{rows, err}
	}()
	d.coming = coming
	return nil
}

// WaitPreloadDone waits until PreloadIntoMemory has read its files, and puts their rows in the place of those in memory.
func (d *InMemoryDataset) WaitPreloadDone() error {
	if d.coming == nil {
		return errors.New("dataset: InMemoryDataset.WaitPreloadDone: nothing is under way; call PreloadIntoMemory first")
	}
	p := <-d.coming
	d.coming = nil
	return d.take(p.rows, p.err)
}

// GlobalShuffle gives this worker its random share of the rows of all files, in a random order. All workers must have the same
// files and give the same seed; then each row is one worker's. Rows do not travel between workers: each reads all files, and parses
// and keeps its own lines, in place of what was in memory. Another seed, such as the number of the pass, is another share.
func (d *InMemoryDataset) GlobalShuffle(ctx context.Context, w Worker, seed uint64) error {
	rows, err := d.files().RandomShard(seed, w.WorkerIndex(), w.WorkerNum()).Load(ctx)
	if err := d.take(rows, err); err != nil {
		return err
	}
	return d.LocalShuffle(seed)
}

// LocalShuffle puts this worker's rows in a random order: the first call after a seed in one, the next in another. The
// orders are a function of seed and of the number of calls.
func (d *InMemoryDataset) LocalShuffle(seed uint64) error {
	if d.loaded == nil {
		return errNotLoaded("LocalShuffle")
	}
	d.shuffled = d.loaded.Shuffle(seed).Epoch(d.shuffles)
	d.shuffles++
	return nil
}

// Batches passes over the rows in memory; see [Dataset.Batches].
func (d *InMemoryDataset) Batches() iter.Seq2[Batch, error] {
	if d.shuffled == nil {
		return func(yield func(Batch, error) bool) { yield(nil, errNotLoaded("Batches")) }
	}
	return d.Rows().Batches(sizeOrOne(d.BatchSize))
}

// Rows are the rows in memory, in their order of now: for what Batches does not do, such as a [Dataset.Shard] for each training
// thread. Without any the dataset's Err tells so.
func (d *InMemoryDataset) Rows() *Dataset {
	if d.shuffled == nil {
		nothing := d.files()
		nothing.err = errNotLoaded("Rows")
		return nothing
	}
	if d.MayBeEmpty {
		return d.shuffled.MayBeEmpty()
	}
	return d.shuffled
}

// MemoryDataSize is the number of rows in memory, of this worker alone; fleet.UtilBase.AllReduceInts adds up those of all.
func (d *InMemoryDataset) MemoryDataSize() int {
	if d.loaded == nil {
		return 0
	}
	rows, _ := d.loaded.Len()
	return rows
}

// ReleaseMemory forgets the rows.
func (d *InMemoryDataset) ReleaseMemory() { d.loaded, d.shuffled = nil, nil }

func errNotLoaded(call string) error {
	return fmt.Errorf("dataset: InMemoryDataset.%s: nothing is in memory; call LoadIntoMemory first", call)
}

func sizeOrOne(size int) int {
	if size == 0 {
		return 1
	}
	return size
}
