package modelfiles

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Save is a model that is being written. Nothing of it counts before Commit.
type Save struct {
	dir    string
	files  []named
	record record // since Commit
	delta  *Delta
	doubt  bool // whether a store will write the record yet
	// generation and serial are set for serving.
	generation string
	serial     int
}

// named is a file in the making.
type named struct {
	*files.File
	name string
}

// Begin begins to save a model to a directory, which is made if need be.
func Begin(dir string) (*Save, error) {
	if err := files.Check(dir); err != nil {
		return nil, err
	}
	if err := files.MakeDirs(dir); err != nil {
		return nil, err
	}
	return &Save{dir: dir}, nil
}

// Write writes a file of the model under a temporary name. Commit makes it durable. A file that is written again takes
// the place of the one before, as where a server died while its weights were read.
func (s *Save) Write(name string, write func(io.Writer) error) error {
	f, err := files.Create(files.Join(s.dir, s.written(name)))
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abandon() // it may be written anew
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if i := slices.IndexFunc(s.files, func(f named) bool { return f.name == name }); i >= 0 {
		s.files[i].Abandon()
		s.files = slices.Delete(s.files, i, i+1)
	}
	s.files = append(s.files, named{f, name})
	return nil
}

// written is the name that a file is begun under. In a store, where nothing is renamed, it is another in each save, and
// the file keeps it.
func (s *Save) written(name string) string {
	if files.IsURL(s.dir) {
		return name + "." + rand.Text()[:idLen]
	}
	return name
}

const idLen = 10

// Commit makes what was written the directory's model: from the moment at which the record has its name. Then it gives
// the files theirs, and removes what saves that never got that far have left. Of several processes that save into one
// directory the last one to commit counts.
func (s *Save) Commit() error {
	r, err := s.finish()
	if err != nil {
		return err
	}
	unlock := lock(s.dir)
	defer unlock()
	before, err := r.write(s.dir)
	s.doubt = err != nil && files.IsURL(s.dir)
	if now, _ := readRecord(s.dir); err == nil || now != nil && slices.Equal(now.Files, r.Files) {
		s.record = r // it counts, durable or not
	}
	if err != nil {
		return err
	}
	if err := s.rename(); err != nil {
		return err
	}
	return s.clean(before)
}

// finish makes the files durable, and is their record.
func (s *Save) finish() (record, error) {
	r := record{Delta: s.delta, Generation: s.generation, Serial: s.serial}
	for _, f := range s.files {
		written, err := f.Settle()
		if err != nil {
			return r, err
		}
		r.Files = append(r.Files, entry{File: f.name, Bytes: f.Size(), Sum: f.Sum(), Written: written})
	}
	if err := s.disk().SyncDir(s.dir); err != nil {
		return r, err
	}
	return r.signed()
}

// Follow makes what is written a delta. A directory that has its base, or a delta before it, is refused: they would be
// lost.
func (s *Save) Follow(d Delta) error {
	is, err := readRecord(s.dir)
	if files.Unreadable(err) {
		return fmt.Errorf("whether %v may be saved in %s can't be seen: %w", d, s.dir, err)
	}
	if err == nil && is != nil && (is.Sum == d.Base || is.Delta != nil && is.Delta.Base == d.Base &&
		is.Delta.Number < d.Number) {
		return fmt.Errorf("%s has what %v is to be read over: give each delta a directory of its own", s.dir, d)
	}
	s.delta = &d
	return nil
}

// Publish says which generation of a job saves a model for serving, and its number.
func (s *Save) Publish(generation string, serial int) { s.generation, s.serial = generation, serial }

// Version is that of a model which was committed.
func (s *Save) Version() string { return s.record.Sum }

// Bytes are the size of the files that were committed.
func (s *Save) Bytes() (n int64) {
	for _, e := range s.record.Files {
		n += e.Bytes
	}
	return n
}

// disk is where the directory is.
func (s *Save) disk() files.FS { return files.On(context.Background(), s.dir, files.OS{}) }

// rename gives the files their names. Until then, and in a store always, readers find them under the ones that they
// were written under.
func (s *Save) rename() error {
	if files.IsURL(s.dir) {
		return nil
	}
	for _, e := range s.record.Files {
		if err := os.Rename(filepath.Join(s.dir, e.Written), filepath.Join(s.dir, e.File)); err != nil {
			return err
		}
	}
	return files.SyncDir(s.dir)
}

// Abandon removes what was written, unless it was committed, or will be by a store that has not answered: then it is
// removed by a later save, when it is old.
func (s *Save) Abandon() {
	if s.record.Files != nil || s.doubt {
		return
	}
	for _, f := range s.files {
		f.Abandon()
	}
}

// longAgo is how old the last write to a file is whose writer has died.
const longAgo = 24 * time.Hour

// clean removes what the record before named and never gave its name, and files whose writers died long ago.
func (s *Save) clean(before *record) error {
	var errs []error
	remove := func(name string) {
		if err := files.Remove(files.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if before != nil {
		for _, e := range before.Files {
			if !s.record.wrote(e.Written) { // as where the answer to its own was lost, and it was written again
				remove(e.Written)
			}
		}
	}
	entries, err := files.ReadDir(s.dir)
	errs = append(errs, err)
	for _, e := range entries {
		if s.record.wrote(e.Name()) {
			continue
		}
		copied := files.IsURL(s.dir) && before.names(e.Name()) // from a disk
		info, err := e.Info()
		if copied || err == nil && s.torn(e.Name()) && time.Since(info.ModTime()) > longAgo {
			remove(e.Name())
		}
	}
	return errors.Join(errs...)
}

// torn says whether a file is one that this save would write, under a temporary name.
func (s *Save) torn(name string) bool {
	for _, e := range append(s.record.Files, entry{File: Record}) {
		if files.IsURL(s.dir) {
			id, is := strings.CutPrefix(name, e.File+".")
			if is && len(id) == idLen && strings.ToUpper(id) == id {
				return true
			}
		} else if strings.HasPrefix(name, "."+e.File+".") && strings.HasSuffix(name, files.TempSuffix) {
			return true
		}
	}
	return false
}
