package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// On returns the file system of a name: local, or one over the store of a URL, whose writes end with ctx.
func On(ctx context.Context, name string, local FS) FS {
	if IsURL(name) {
		return remoteFS{ctx}
	}
	return local
}

// remoteFS is an [FS] over stores. A temporary file is on this machine only: Rename sends it to the store, complete and
// durable. So there are no directories to sync.
type remoteFS struct{ ctx context.Context }

// drafts holds the temporary files, by their URLs.
var drafts sync.Map

// draft is a temporary file.
type draft struct {
	*Scratch
	name string
}

func (d *draft) Name() string { return d.name }

// Sync implements [Temp]. It does nothing, since the file need not survive this machine.
func (d *draft) Sync() error { return nil }

// Close implements [Temp]. The file exists until it is renamed or removed.
func (d *draft) Close() error { return nil }

// CreateTemp implements [FS].
func (remoteFS) CreateTemp(dir, pattern string) (Temp, error) {
	before, after, _ := strings.Cut(pattern, "*")
	d := &draft{name: Join(dir, before+rand.Text()[:10]+after)}
	_, _, err := store.Of(dir)
	if err == nil {
		d.Scratch, err = NewScratch()
	}
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: d.name, Err: err}
	}
	drafts.Store(d.name, d)
	return d, nil
}

// Mkdir implements [FS]. A directory exists when a file is in it.
func (remoteFS) Mkdir(dir string) error { return Check(dir) }

// SyncDir implements [FS].
func (remoteFS) SyncDir(string) error { return nil }

// Rename implements [FS] for temporary files, and for small files of a store, which have both names for a moment.
func (on remoteFS) Rename(from, to string) error {
	if d, is := drafts.Load(from); is {
		d := d.(*draft)
		size, err := d.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = put(on.ctx, to, io.NewSectionReader(d, 0, size), store.Condition{})
		}
		if err != nil {
			return err
		}
		return on.Remove(from)
	}
	data, err := ReadFile(from)
	if err == nil {
		_, err = put(on.ctx, to, sectionOf(data), store.Condition{})
	}
	if err != nil {
		return err
	}
	return on.Remove(from)
}

// Remove implements [FS].
func (on remoteFS) Remove(name string) error {
	if d, is := drafts.LoadAndDelete(name); is {
		return d.(*draft).Scratch.Close()
	}
	_, err := ask(on.ctx, "remove", name, 0, func(ctx context.Context, s store.Store, path string) (any, error) {
		return nil, s.Remove(ctx, path)
	})
	return err
}

func sectionOf(data []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
}

// leastRate is the bytes a second that a store must accept, after its patience.
const leastRate = 256 << 10

// put writes a file of a store.
func put(ctx context.Context, name string, content *io.SectionReader, c store.Condition) (version string, err error) {
	longer := time.Duration(content.Size()/leastRate) * time.Second
	return ask(ctx, "write", name, longer, func(ctx context.Context, s store.Store, path string) (string, error) {
		return s.Put(ctx, path, content, c)
	})
}

// Publish writes data to the file of that name, complete and durable or not at all. A file in a store must still have
// the version from ReadVersion, or be absent if that is empty: else the error wraps [ErrChanged]. A file of this
// machine, which has no version, is replaced.
func Publish(ctx context.Context, local FS, name, version string, data []byte) (now string, err error) {
	if IsURL(name) {
		return put(ctx, name, sectionOf(data), store.Condition{Absent: version == "", Version: version})
	}
	return "", WriteOn(local, name, func(w io.Writer) error { _, err := w.Write(data); return err })
}
