package dataset

import "fmt"

// FileShard returns worker index's part of a list of files: contiguous blocks of len(files)/workers, of which the first
// len(files)%workers have one more. It returns an error for an invalid index. If there are more workers than files,
// some workers get none: they have rows only after a GlobalShuffle, and otherwise need [Dataset.MayBeEmpty].
func FileShard(files []string, index, workers int) ([]string, error) {
	if workers < 1 || index < 0 || index >= workers {
		return nil, fmt.Errorf("%w FileShard(%d files, %d, %d): want an index from 0 to below the number of workers",
			ErrOption, len(files), index, workers)
	}
	size, more := len(files)/workers, len(files)%workers
	lo := index*size + min(index, more)
	hi := lo + size
	if index < more {
		hi++
	}
	return files[lo:hi:hi], nil
}
