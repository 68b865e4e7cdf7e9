package modelfiles

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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
	record record // set by Commit
	delta  *Delta
	doubt  bool // a store may still write the record
	// generation and serial are set for a model for serving.
	generation string
	serial     int
}

// named is a file that is being written.
type named struct {
	*files.File
	name string
}

// Begin begins to save a model to a directory, which it makes if needed.
func Begin(dir string) (*Save, error) {
	if err := files.Check(dir); err != nil {
		return nil, err
	}
	if err := files.MakeDirs(dir); err != nil {
		return nil, err
	}
	return &Save{dir: dir}, nil
}

// Write writes a file of the model under a temporary name. Commit makes it durable. A file that is written again
// replaces the one before: a server may have died while its weights were read.
func (s *Save) Write(name string, write func(io.Writer) error) error {
	f, err := files.Create(files.Join(s.dir, s.written(name)))
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abandon() // the file may be written again
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if i := slices.IndexFunc(s.files, func(f named) bool { return f.name == name }); i >= 0 {
		s.files[i].Abandon()
		s.files = slices.Delete(s.files, i, i+1)
	}
	s.files = append(s.files, named{f, name})
	return nil
}

// written returns the name under which a file is created. In a store, which can't rename, each save uses another name,
// and the file keeps it.
func (s *Save) written(name string) string {
	if files.IsURL(s.dir) {
		return name + "." + rand.Text()[:idLen]
	}
	return name
}

const idLen = 10

// Commit makes the written files the directory's model, from the moment when the record has its name. Then it renames
// the files, and removes those that unfinished saves have left. If several processes save into one directory, the last
// one to commit counts.
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
		s.record = r // the record counts, durable or not
	}
	if err != nil {
		return err
	}
	if err := s.rename(); err != nil {
		return err
	}
	if err := s.clean(before); err != nil { // the model is whole
		slog.Warn("files of earlier saves could not be removed", "dir", s.dir, "error", err)
	}
	return nil
}

// finish makes the files durable, and returns their record.
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

// Follow makes the save a delta. It returns an error if the directory has the delta's base, or an earlier delta of it,
// which would be lost.
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

// Publish sets the generation of the job that saves a model for serving, and the model's number.
func (s *Save) Publish(generation string, serial int) { s.generation, s.serial = generation, serial }

// Version returns the version of the committed model, empty before Commit.
func (s *Save) Version() string { return s.record.Sum }

// Bytes returns the size of the committed files.
func (s *Save) Bytes() (n int64) {
	for _, e := range s.record.Files {
		n += e.Bytes
	}
	return n
}

// disk returns the file system of the directory.
func (s *Save) disk() files.FS { return files.On(context.Background(), s.dir, files.OS{}) }

// rename gives the files their final names. Readers find them under their temporary names before that, and always in a
// store.
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

// Abandon removes the written files, unless they were committed, or a store that has not answered may still commit
// them: a later save removes such files when they are old.
func (s *Save) Abandon() {
	if s.record.Files != nil || s.doubt {
		return
	}
	for _, f := range s.files {
		f.Abandon()
	}
}

// longAgo is the age of a file's last write from which on its writer counts as dead.
const longAgo = 24 * time.Hour

// clean removes files of the record before that were never renamed, and old temporary files.
func (s *Save) clean(before *record) error {
	var errs []error
	remove := func(name string) {
		if err := files.Remove(files.Join(s.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if before != nil {
		for _, e := range before.Files {
			if !s.record.wrote(e.Written) { // true if this save's record was written twice because an answer was lost
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
		copied := files.IsURL(s.dir) && before.names(e.Name()) // a model that was copied from a disk
		info, err := e.Info()
		if copied || err == nil && s.torn(e.Name()) && time.Since(info.ModTime()) > longAgo {
			remove(e.Name())
		}
	}
	return errors.Join(errs...)
}

// torn reports whether a file has a temporary name of one of this save's files.
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
