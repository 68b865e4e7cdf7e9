package modelfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gofleet/gofleet/internal/files"
)

// Published describes a model in a directory, from its record.
type Published struct {
	Dir, Sum string
	// Delta says what a delta follows; nil for a whole model.
	Delta *Delta
	// Generation is that of the job which saved a model for serving, Serial its number; empty and 0 for other models.
	Generation string
	Serial     int
	// Damaged is why the record can't be read, as far as its text goes: then nothing else is known.
	Damaged error
}

// FindPublished finds the models in the directories of dir, and up to levels levels below dir. A directory that does
// not exist has none. It reads only records.
func FindPublished(dir string, levels int) (all []Published, err error) {
	entries, err := files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		at := files.Join(dir, e.Name())
		if !isDir(at, e) {
			continue
		}
		r, err := readRecord(at)
		switch {
		case errors.Is(err, ErrDamaged):
			all = append(all, Published{Dir: at, Damaged: fmt.Errorf("%s: %w", at, err)})
		case err != nil:
			return nil, fmt.Errorf("%s: %w", at, err)
		case r != nil:
			all = append(all, Published{at, r.Sum, r.Delta, r.Generation, r.Serial, nil})
		case levels > 1:
			below, err := FindPublished(at, levels-1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, err
}

// isDir reports whether an entry is a directory, or a link to one.
func isDir(name string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}
