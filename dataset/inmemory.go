package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
)

// InMemoryDataset reads a list of files into memory, where it can shuffle them between epochs. It offers PaddlePaddle's
// API over a [Dataset] and, as in PaddlePaddle, is used by one goroutine.
//
//	d := &dataset.InMemoryDataset{Format: format, BatchSize: 512, PipeCommand: "./parse"}
//	d.SetFileList(files...)                // this worker's
//	err := d.LoadIntoMemory(ctx)
//	err = d.GlobalShuffle(ctx, f, day)     // f is the fleet: the workers exchange rows
//	for batch, err := range d.Batches() {
//		…
//	}
//	d.ReleaseMemory()
type InMemoryDataset struct {
	FileList []string
	// FS is the file system of the list's files; nil means the machine's.
	FS     fs.FS
	Format Format
	// BatchSize is the number of rows of a batch; 0 means 1.
	BatchSize int
	// PipeCommand is a shell command that filters every file; see [Files].
	PipeCommand string
	// SkipBad is the number of bad lines that may be skipped; 0 fails at the first.
	SkipBad int
	// MayBeEmpty permits a pass without rows, which is [ErrNoRows] by default; see [Dataset.MayBeEmpty].
	MayBeEmpty bool

	loaded   *Dataset
	shuffled *Dataset
	held     bool     // loaded by LoadIntoMemory or PreloadIntoMemory
	paths    []string // of the loaded rows, nil after an exchange
	skips    skips
	shuffles int
	coming   chan preloaded // a preload in progress, nil for none
}

// preloaded is the result of a PreloadIntoMemory.
type preloaded struct {
	rows  *Dataset
	paths []string
	skips skips
	err   error
}

// SetFileList sets the files of the next LoadIntoMemory.
func (d *InMemoryDataset) SetFileList(files ...string) { d.FileList = files }

// LoadIntoMemory reads all files and replaces the rows in memory.
func (d *InMemoryDataset) LoadIntoMemory(ctx context.Context) error {
	p := preloaded{paths: d.FileList}
	p.rows, p.err = d.files(&p.skips).Load(ctx)
	return d.replace(p)
}

// files returns the list's rows; s is set at the end of a pass over them.
func (d *InMemoryDataset) files(s *skips) *Dataset {
	return New(&Files{Paths: d.FileList, FS: d.FS, Format: d.Format, PipeCommand: d.PipeCommand, SkipBad: d.SkipBad,
		ended: func(passed skips) { *s = passed }})
}

// replace replaces the rows in memory.
func (d *InMemoryDataset) replace(p preloaded) error {
	if p.err != nil {
		return p.err
	}
	d.loaded, d.shuffled, d.held, d.paths, d.skips = p.rows, p.rows, true, p.paths, p.skips
	return nil
}

// PreloadIntoMemory starts reading the files of the current list in the background, while the rows in memory remain in
// use. WaitPreloadDone must be called before another PreloadIntoMemory.
func (d *InMemoryDataset) PreloadIntoMemory(ctx context.Context) error {
	if d.coming != nil {
		return errors.New("dataset: InMemoryDataset.PreloadIntoMemory: one is under way; call WaitPreloadDone first")
	}
	p, coming := preloaded{paths: d.FileList}, make(chan preloaded, 1)
	files := d.files(&p.skips)
	go func() { // ends with WaitPreloadDone, or with ctx
		p.rows, p.err = files.Load(ctx)
		coming <- p
	}()
	d.coming = coming
	return nil
}

// WaitPreloadDone waits until PreloadIntoMemory has read its files, and replaces the rows in memory by the rows read.
func (d *InMemoryDataset) WaitPreloadDone() error {
	if d.coming == nil {
		return errors.New(
			"dataset: InMemoryDataset.WaitPreloadDone: nothing is under way; call PreloadIntoMemory first")
	}
	p := <-d.coming
	d.coming = nil
	return d.replace(p)
}

// LocalShuffle puts this worker's rows in a random order, a different one at each call. The order is a function of seed
// and of the number of calls.
func (d *InMemoryDataset) LocalShuffle(seed uint64) error {
	if d.loaded == nil {
		return errNotLoaded("LocalShuffle")
	}
	d.shuffled = d.loaded.Shuffle(seed).Epoch(d.shuffles)
	d.shuffles++
	return nil
}

// SetShuffles sets the number of earlier calls of LocalShuffle, in a process that has ended, so that the next call
// gives the order of call n+1. In a loop that shuffles once per epoch, n is the epoch from which the job resumes.
func (d *InMemoryDataset) SetShuffles(n int) { d.shuffles = n }

// Batches passes over the rows in memory; see [Dataset.Batches].
func (d *InMemoryDataset) Batches() iter.Seq2[Batch, error] {
	if d.shuffled == nil {
		return func(yield func(Batch, error) bool) { yield(nil, errNotLoaded("Batches")) }
	}
	return d.Rows().Batches(sizeOrOne(d.BatchSize))
}

// Rows returns the rows in memory, in their current order, as a Dataset, for example for a [Dataset.Shard] for each
// training thread. If there are none, the dataset's Err says so.
func (d *InMemoryDataset) Rows() *Dataset {
	if d.shuffled == nil {
		nothing := d.files(new(skips))
		nothing.err = errNotLoaded("Rows")
		return nothing
	}
	if d.MayBeEmpty {
		return d.shuffled.MayBeEmpty()
	}
	return d.shuffled
}

// MemoryDataSize returns the number of rows in memory on this worker; use fleet.Fleet.AllReduceInts for the sum over
// all workers.
func (d *InMemoryDataset) MemoryDataSize() int {
	if d.loaded == nil {
		return 0
	}
	rows, _ := d.loaded.Len()
	return rows
}

// ReleaseMemory releases the rows in memory.
func (d *InMemoryDataset) ReleaseMemory() {
	d.loaded, d.shuffled, d.held, d.paths, d.skips = nil, nil, false, nil, skips{}
}

func errNotLoaded(call string) error {
	return fmt.Errorf("dataset: InMemoryDataset.%s: nothing is in memory; call LoadIntoMemory first", call)
}

func sizeOrOne(size int) int {
	if size == 0 {
		return 1
	}
	return size
}
