package dataset

import (
	"context"
	"io/fs"
	"iter"
)

// QueueDataset streams a list of files through a queue of batches that one goroutine fills: rows are not kept in memory
// and can't be shuffled. It offers PaddlePaddle's API over a [Dataset].
type QueueDataset struct {
	FileList []string
	// FS is the file system of the list's files; nil means the machine's.
	FS     fs.FS
	Format Format
	// BatchSize is the number of rows of a batch; 0 means 1.
	BatchSize int
	// Capacity is the number of batches in the queue; 0 means 4.
	Capacity int
	// PipeCommand is a shell command that filters every file; see [Files].
	PipeCommand string
	// SkipBad is the number of bad lines that may be skipped; 0 fails at the first.
	SkipBad int
	// MayBeEmpty permits a pass without rows, which is [ErrNoRows] by default; see [Dataset.MayBeEmpty].
	MayBeEmpty bool

	skips skips
}

// SetFileList sets the files of the next pass.
func (d *QueueDataset) SetFileList(files ...string) { d.FileList = files }

// Batches passes over the files once; see [Dataset.Batches]. A loop that breaks does not wait for further output of a
// pipe command.
func (d *QueueDataset) Batches() iter.Seq2[Batch, error] {
	return d.BatchesContext(context.Background())
}

// BatchesContext is Batches with a context that ends the pass; see [Dataset.BatchesContext].
func (d *QueueDataset) BatchesContext(ctx context.Context) iter.Seq2[Batch, error] {
	capacity := d.Capacity
	if capacity == 0 {
		capacity = 4
	}
	rows := d.files()
	if d.MayBeEmpty {
		rows = rows.MayBeEmpty()
	}
	return rows.Prefetch(capacity).BatchesContext(ctx, sizeOrOne(d.BatchSize))
}

func (d *QueueDataset) files() *Dataset {
	return New(&Files{Paths: d.FileList, FS: d.FS, Format: d.Format, PipeCommand: d.PipeCommand, SkipBad: d.SkipBad,
		ended: func(s skips) { d.skips = s }})
}
