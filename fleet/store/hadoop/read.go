package hadoop

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// format is the form in which the shell describes a file: milliseconds, bytes, kind and name. Only the name may contain
// a slash.
const format = "%Y/%b/%F/%n"

// stat describes files, whose names may be patterns; files that do not exist are left out.
func (s *Store) stat(ctx context.Context, names ...string) (all []store.Info, err error) {
	args := []string{"-stat", format}
	for _, name := range names {
		args = append(args, s.url(name))
	}
	out, _, err := s.run(ctx, nil, args...)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(out) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "/", 4)
		if len(part) < 4 {
			return nil, fmt.Errorf("hadoop: -stat has printed %q, which is not of the format %s", line, format)
		}
		changed, err := strconv.ParseInt(part[0], 10, 64)
		size, bad := strconv.ParseInt(part[1], 10, 64)
		if err = errors.Join(err, bad); err != nil {
			return nil, fmt.Errorf("hadoop: -stat has printed %q: %w", line, err)
		}
		i := store.Info{Name: part[3], Dir: part[2] == "directory", Modified: time.UnixMilli(changed)}
		if !i.Dir {
			i.Size, i.Version = size, part[0]+"-"+part[1]
		}
		all = append(all, i)
	}
	return all, nil
}

// find describes a file, and returns the name under which it lies: a file that is being replaced lies beside its name.
// The shell looks up one name after the other, so a replacement may end in between: the file's name is looked up again
// at the end.
func (s *Store) find(ctx context.Context, name string) (i store.Info, at string, err error) {
	all, err := s.stat(ctx, name, hidden(name, anyID, wasMark), name)
	if err != nil {
		return i, "", &fs.PathError{Op: "stat", Path: s.url(name), Err: err}
	}
	base := path.Base(name)
	var was []store.Info
	for _, i := range all {
		switch of, _, mark := beside(i.Name); {
		case i.Name == base && !i.Dir:
			return i, name, nil
		case i.Name == base:
			return i, "", &fs.PathError{Op: "stat", Path: s.url(name), Err: fmt.Errorf("%w, and no file: %w",
				errDirectory, fs.ErrNotExist)}
		case mark == wasMark && of == base:
			was = append(was, i)
		}
	}
	if i = newest(was); i.Name == "" {
		return i, "", &fs.PathError{Op: "stat", Path: s.url(name), Err: fs.ErrNotExist}
	}
	at = path.Join(path.Dir(name), i.Name)
	i.Name = base
	return i, at, nil
}

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Info, error) {
	if err := s.check("stat", name); err != nil {
		return store.Info{}, err
	}
	i, _, err := s.find(ctx, name)
	return i, err
}

// pageful is the number of names in one answer of a name node (dfs.ls.limit).
const pageful = 1000

// List implements [store.Store]. Between two answers of the name node, a file may be moved to a name that the listing
// has already passed, and the file that replaces it may be missed too. So a long listing is repeated until it lacks
// nothing that the previous one had.
func (s *Store) List(ctx context.Context, dir string) ([]store.Info, error) {
	if err := s.check("list", dir); err != nil {
		return nil, err
	}
	there, long, err := s.list(ctx, dir)
	for round := 1; err == nil && long && round < rounds; round++ {
		before := there
		if there, long, err = s.list(ctx, dir); lacksNone(there, before) {
			break
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: s.url(dir), Err: err}
	}
	return slices.Collect(maps.Values(there)), nil
}

// list describes the files in a directory by name, and reports whether they may have come in several answers. A file
// that is being replaced is listed under its own name.
func (s *Store) list(ctx context.Context, dir string) (there map[string]store.Info, long bool, err error) {
	all, err := s.stat(ctx, strings.TrimSuffix(dir, "/")+"/*")
	there, was := map[string]store.Info{}, map[string][]store.Info{}
	for _, i := range all {
		switch of, _, mark := beside(i.Name); mark {
		case "":
			there[i.Name] = i
		case wasMark:
			i.Name = of
			was[of] = append(was[of], i)
		}
	}
	for name, of := range was {
		if _, is := there[name]; !is {
			there[name] = newest(of)
		}
	}
	return there, len(all) >= pageful, err
}

func lacksNone(there, before map[string]store.Info) bool {
	for name := range before {
		if _, is := there[name]; !is {
			return false
		}
	}
	return true
}

// Open implements [store.Store].
func (s *Store) Open(ctx context.Context, name string, r store.Range) (io.ReadCloser, error) {
	if err := s.check("open", name); err != nil {
		return nil, err
	}
	f := &reading{s: s, ctx: ctx, name: name, version: r.Version, left: r.Bytes, all: r.Bytes == 0}
	if r.From > 0 {
		if err := f.same(); err != nil {
			return nil, err
		}
	}
	at := name
	for tried := 1; ; tried++ {
		err := f.start(at, r.From)
		if err == nil {
			return f, nil
		}
		f.Close()
		if tried == tries || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDirectory) {
			return nil, &fs.PathError{Op: "open", Path: s.url(name), Err: err}
		}
		if _, at, err = s.find(ctx, name); err != nil { // it may just be moved from one name to the other
			return nil, err
		}
	}
}

// reading is a file that the shell prints.
type reading struct {
	s       *Store
	ctx     context.Context
	name    string
	version string // empty if no check is needed
	left    int64  // bytes to read
	all     bool   // to the end

	body   *bufio.Reader
	pipe   *os.File
	stop   context.CancelFunc
	ended  sync.WaitGroup
	failed error // set when the command has ended
}

// start starts to print a file, and skips its first bytes. It returns the error of the command.
func (f *reading) start(at string, from int64) error {
	ctx, stop := context.WithCancel(f.ctx)
	f.stop = stop
	r, w, err := os.Pipe() // os/exec would copy to another writer, for a limited time, and a reader may wait
	if err != nil {
		return err
	}
	f.pipe, f.body = r, bufio.NewReaderSize(r, 64<<10)
	f.ended.Go(func() {
		defer w.Close()
		var said words
		err := f.s.start(ctx, nil, w, &said, "-cat", f.s.url(at))
		f.failed = f.s.ended(ctx, "-cat", &said, err)
	})
	_, err = io.CopyN(io.Discard, f.body, from)
	if err == nil {
		_, err = f.body.Peek(1)
	}
	if err = f.why(err); err == io.EOF { // Read returns it
		return nil
	}
	return err
}

// why returns the command's error if it has printed no more.
func (f *reading) why(err error) error {
	if err == io.EOF {
		f.ended.Wait()
		err = cmp.Or(f.failed, err)
	}
	return err
}

// Read implements io.Reader. It returns the end of the file only after a check that the file was not replaced
// meanwhile.
func (f *reading) Read(b []byte) (int, error) {
	if !f.all {
		if f.left == 0 {
			return 0, io.EOF
		}
		b = b[:min(int64(len(b)), f.left)]
	}
	n, err := f.body.Read(b)
	err = f.why(err)
	f.left -= int64(n)
	if err == io.EOF || !f.all && f.left == 0 {
		if err := f.same(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// same returns an error unless the file still has the version that is read.
func (f *reading) same() error {
	if f.version == "" {
		return nil
	}
	i, _, err := f.s.find(f.ctx, f.name)
	if err == nil && i.Version != f.version {
		err = &fs.PathError{Op: "read", Path: f.s.url(f.name), Err: store.ErrChanged}
	}
	return err
}

// Close implements io.Closer.
func (f *reading) Close() error {
	f.stop()
	f.pipe.Close()
	f.ended.Wait()
	return nil
}
