package hadoop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

const (
	// old is the age, by the clock of the file system, from which a file beside others belongs to no writer.
	old = time.Hour
	// rounds is how often a put without a condition starts again because of other puts.
	rounds = 5
)

// stands is how long a replacement may make no progress before another process reverts it.
var stands = 30 * time.Second

// errLost is the error of a put that another process preceded.
var errLost = errors.New("another file was put there meanwhile")

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, name string, content *io.SectionReader, c store.Condition) (string, error) {
	err := s.check("write", name)
	for round := 1; err == nil; round++ {
		id := newID()
		d := &draft{Store: s, name: name, new: hidden(name, id, newMark), was: hidden(name, id, wasMark),
			size: content.Size()}
		failed := d.put(ctx, content, c)
		if failed == nil {
			return d.version, nil
		}
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		if d.moving {
			_ = s.takeBack(after, name, id) // otherwise the next writer does
		} else {
			_ = s.remove(after, d.new, d.new+copying)
		}
		cancel()
		switch lost := errors.Is(failed, errLost); {
		case lost && c != store.Condition{}:
			failed = fmt.Errorf("%w: %w", store.ErrChanged, failed)
		case lost && round < rounds:
			continue
		}
		err = &fs.PathError{Op: "write", Path: s.url(name), Err: failed}
	}
	return "", err
}

// draft is a file that is being put.
type draft struct {
	*Store
	name     string
	new, was string // the place of the new file, and of the previous one meanwhile
	size     int64
	version  string
	moving   bool     // the previous file or this one
	left     []string // to be removed
}

func (d *draft) put(ctx context.Context, content *io.SectionReader, c store.Condition) error {
	if err := d.write(ctx, content); err != nil {
		return err
	}
	before, err := d.settled(ctx, c)
	d.moving = err == nil
	if err == nil && before != "" {
		d.left = append(d.left, d.was)
		err = d.aside(ctx, before)
	}
	if err == nil {
		err = d.move(ctx, d.new, d.name, d.version)
	}
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", errLost, err)
	case err != nil:
		return err
	}
	if len(d.left) > 0 {
		_ = d.remove(ctx, d.left...) // otherwise a later put removes them
	}
	return nil
}

// write writes the new file beside its name.
func (d *draft) write(ctx context.Context, content *io.SectionReader) error {
	put := func() error {
		_, _, err := d.run(ctx, content, "-put", "-f", "-", d.url(d.new))
		return err
	}
	err := put()
	if errors.Is(err, fs.ErrNotExist) { // some file systems do not create directories
		if err = d.do(ctx, "-mkdir", "-p", d.url(path.Dir(d.name))); err == nil {
			err = put()
		}
	}
	return err
}

// settled waits until no other process replaces the file, and returns its version, empty if there is no file. It
// reverts a replacement that makes no progress.
func (d *draft) settled(ctx context.Context, c store.Condition) (version string, err error) {
	var by string
	var since time.Time
	for {
		version, now, err := d.look(ctx)
		switch {
		case err != nil:
			return "", err
		case c.Absent && version != "", c.Version != "" && c.Version != version:
			return "", store.ErrChanged
		case now == "":
			return version, nil
		case now != by:
			by, since = now, time.Now()
		case time.Since(since) >= stands:
			if err := d.takeBack(ctx, d.name, by); err != nil {
				return "", err
			}
		}
		select {
		case <-time.After(time.Since(since)/4 + pause/10):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// look checks that the new file is written. It returns the version under the name, or that of the file which by is
// replacing now, and records the files that others have left.
func (d *draft) look(ctx context.Context) (version, by string, err error) {
	dir, base := path.Split(d.name)
	all, err := d.stat(ctx, d.new, d.name, hidden(d.name, anyID, wasMark), d.name, dir+".*."+anyID+newMark+"*")
	if err != nil {
		return "", "", err
	}
	var mine store.Info
	var was []store.Info
	for _, i := range all {
		of, _, mark := beside(i.Name)
		switch {
		case i.Name == path.Base(d.new):
			mine = i
		case i.Name == base && i.Dir:
			return "", "", errDirectory
		case i.Name == base:
			version = i.Version
		case of == base && mark == wasMark:
			was = append(was, i)
		}
	}
	switch {
	case mine.Name == "":
		return "", "", errLost
	case mine.Size != d.size:
		return "", "", fmt.Errorf("%d bytes were to be written, %d are there", d.size, mine.Size)
	case version == "" && len(was) > 0:
		last := newest(was)
		_, by, _ = beside(last.Name)
		version = last.Version
	}
	d.version, d.left = mine.Version, nil
	for _, i := range all {
		_, _, mark := beside(i.Name)
		if mark == wasMark && by == "" || mark == newMark && mine.Modified.Sub(i.Modified) > old {
			d.left = append(d.left, dir+i.Name)
		}
	}
	return version, by, nil
}

// aside moves the previous file away, if it has the given version.
func (d *draft) aside(ctx context.Context, version string) error {
	if err := d.move(ctx, d.name, d.was, version); err != nil {
		return err
	}
	is, err := d.stat(ctx, d.was)
	if err == nil && (len(is) != 1 || is[0].Version != version) {
		err = errLost
	}
	return err
}

// move renames a file of a version. It does not replace a file under the other name.
func (s *Store) move(ctx context.Context, from, to, version string) error {
	_, tried, err := s.run(ctx, nil, "-mv", s.url(from), s.url(to))
	if err == nil || tried == 1 && lasting(err) {
		return err
	}
	if is, failed := s.stat(ctx, to); failed == nil && len(is) == 1 && is[0].Version == version {
		return nil // by a try whose answer was lost
	}
	return err
}

// takeBack reverts a replacement: it can no longer be completed, and the previous file gets its name again.
func (s *Store) takeBack(ctx context.Context, name, id string) error {
	draft, was := hidden(name, id, newMark), hidden(name, id, wasMark)
	if err := s.remove(ctx, draft, draft+copying); err != nil {
		return err
	}
	err := s.do(ctx, "-mv", s.url(was), s.url(name))
	switch {
	case errors.Is(err, fs.ErrExist):
		return s.remove(ctx, was)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// Remove implements [store.Store]. It also removes an empty directory.
func (s *Store) Remove(ctx context.Context, name string) error {
	err := s.check("remove", name)
	if err == nil {
		err = s.remove(ctx, hidden(name, anyID, wasMark), name)
	}
	if errors.Is(err, errDirectory) {
		if err = s.do(ctx, "-rmdir", "--ignore-fail-on-non-empty", s.url(name)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		err = &fs.PathError{Op: "remove", Path: s.url(name), Err: err}
	}
	return err
}

// remove removes files, in that order.
func (s *Store) remove(ctx context.Context, names ...string) error {
	args := []string{"-rm", "-f", "-skipTrash"}
	for _, name := range names {
		args = append(args, s.url(name))
	}
	return s.do(ctx, args...)
}
