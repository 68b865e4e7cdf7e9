package dataset

import (
	"context"
	"fmt"
	"iter"
)

// InMemoryDataset reads a list of files into memory, where it can shuffle them between epochs. It is the original's
// name and way of working over [Dataset], and like the original's it is used by one goroutine.
type InMemoryDataset struct {
	FileList []string
	Format   Format
	// BatchSize is the number of rows of a batch; 1 when 0.
	BatchSize int
	// SkipBad is how many bad lines may be passed over; 0 fails at the first.
	SkipBad int

	loaded   *Dataset
	shuffled *Dataset
	shuffles int
}

// SetFileList names the files of the next LoadIntoMemory.
func (d *InMemoryDataset) SetFileList(files ...string) { d.FileList = files }

// LoadIntoMemory reads all files, in place of what was there.
func (d *InMemoryDataset) LoadIntoMemory(ctx context.Context) error {
	rows, err := New(&Files{Paths: d.FileList, Format: d.Format, SkipBad: d.SkipBad}).Load(ctx)
	if err != nil {
		return err
	}
	d.loaded, d.shuffled = rows, rows
	return nil
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
	return d.shuffled.Batches(sizeOrOne(d.BatchSize))
}

// MemoryDataSize is the number of rows in memory, of this worker alone.
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
