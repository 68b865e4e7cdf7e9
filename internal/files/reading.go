package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/internal/awake"
)

// Reading is a file that is open for reading: an *os.File, or a file of a store.
type Reading interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// remote is an open file of a store. All reads are of the version that it had when it was opened.
type remote struct {
	ctx  context.Context // of reads
	name string          // the URL
	path string          // in the store
	in   store.Store
	info store.Info
	at   int64 // the offset of the next Read

	whole *Scratch // a copy of the whole file, once Sealed.Open has made it

	mu     sync.Mutex
	head   []byte // its first bytes, since headers are read in small pieces
	blocks blocks // the rest
}

// openRemote opens a file of a store without reading from it.
func openRemote(ctx context.Context, name string) (*remote, error) {
	in, path, err := store.Of(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	i, err := stat(ctx, name)
	if err != nil {
		return nil, err
	}
	return &remote{ctx: ctx, name: name, path: path, in: in, info: i}, nil
}

// Stat implements [Reading].
func (f *remote) Stat() (fs.FileInfo, error) { return info{f.info}, nil }

// Read implements io.Reader.
func (f *remote) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b[:min(int64(len(b)), max(0, f.info.Size-f.at))], f.at)
	if f.at += int64(n); err == nil && n == 0 && len(b) > 0 {
		err = io.EOF
	}
	return n, err
}

// headBytes is about the size of files' headers.
const headBytes = 64 << 10

// ReadAt implements io.ReaderAt.
func (f *remote) ReadAt(b []byte, at int64) (int, error) {
	switch {
	case f.whole != nil:
		return f.whole.ReadAt(b, at)
	case at < 0 || at > f.info.Size:
		return 0, io.EOF
	case at+int64(len(b)) <= min(headBytes, f.info.Size):
		head, err := f.peek()
		if err != nil {
			return 0, err
		}
		return copy(b, head[at:]), nil
	case len(b) == 0:
		return 0, nil
	case at == f.info.Size:
		return 0, io.EOF
	}
	return f.readAt(b, at)
}

// peek returns the first headBytes, which it reads once.
func (f *remote) peek() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.head != nil {
		return f.head, nil
	}
	head := make([]byte, min(headBytes, f.info.Size))
	if _, err := f.pull(head, 0); err != nil {
		return nil, err
	}
	f.head = head
	return head, nil
}

// pull reads a part of the file from the store.
func (f *remote) pull(b []byte, at int64) (n int, err error) {
	p := puller{file: f, ctx: f.ctx, at: at, end: min(at+int64(len(b)), f.info.Size)}
	defer p.Close()
	n, err = io.ReadFull(&p, b[:p.end-at])
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (f *remote) Close() (err error) {
	for _, kept := range []*Scratch{f.whole, f.blocks.kept} {
		if kept != nil {
			err = errors.Join(err, kept.Close())
		}
	}
	return err
}

// attempts is how many times in a row a part of a file is requested before reading it fails.
const attempts = 5

// puller reads a span of a file in order. After a failure it continues at the byte where it stopped.
type puller struct {
	file    *remote
	ctx     context.Context
	at, end int64

	body   io.ReadCloser
	life   context.Context // of body
	cancel context.CancelCauseFunc
	tries  int
}

// Read implements io.Reader.
func (p *puller) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for p.at < p.end {
		n, err := p.read(b[:min(int64(len(b)), p.end-p.at)])
		if p.at += int64(n); n > 0 {
			p.tries = 0
		}
		if err != nil {
			p.Close()
			err = p.failed(err)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.EOF
}

// read makes one attempt, which fails if the store sends nothing for its patience.
func (p *puller) read(b []byte) (n int, err error) {
	if p.body == nil {
		p.life, p.cancel = context.WithCancelCause(p.ctx)
	}
	cancel := p.cancel
	patience := patienceWith(p.file.in)
	late := time.AfterFunc(patience, func() { cancel(fmt.Errorf("the store has sent nothing for %v", patience)) })
	defer late.Stop()
	if p.body == nil {
		r := store.Range{Version: p.file.info.Version, From: p.at, Bytes: p.end - p.at}
		if p.body, err = p.file.in.Open(p.life, p.file.path, r); err != nil {
			p.body = nil
		}
	}
	if err == nil {
		n, err = p.body.Read(b)
	}
	if ended := Ended(p.life); err != nil && ended != nil {
		err = ended
	}
	return n, err
}

// failed waits and returns nil if another attempt is to be made, else it returns the error.
func (p *puller) failed(err error) error {
	if errors.Is(err, io.EOF) {
		if p.at >= p.end {
			return nil
		}
		err = io.ErrUnexpectedEOF
	}
	p.tries++
	ended := Ended(p.ctx)
	switch {
	case ended != nil:
		err = ended
	case errors.Is(err, store.ErrChanged) || errors.Is(err, fs.ErrNotExist):
	case p.tries < attempts:
		if err = awake.Rest(p.ctx, time.Duration(p.tries*p.tries)*100*time.Millisecond); err == nil {
			return nil
		}
	default:
		err = fmt.Errorf("%d attempts to read on from byte %d have failed: %w", attempts, p.at, err)
	}
	return &fs.PathError{Op: "read", Path: p.file.name, Err: err}
}

// Close ends the attempt under way.
func (p *puller) Close() {
	if p.cancel != nil {
		p.cancel(nil)
		p.cancel = nil
	}
	if p.body != nil {
		p.body.Close()
		p.body = nil
	}
}

// Scratch is a temporary file of this machine, in os.TempDir, which exists as long as it is open.
type Scratch struct {
	*os.File
	stays bool // Close removes it, since this system can't remove an open file
}

// NewScratch makes a temporary file.
func NewScratch() (*Scratch, error) {
	f, err := os.CreateTemp("", "gofleet-*.scratch")
	if err != nil {
		return nil, err
	}
	return &Scratch{f, os.Remove(f.Name()) != nil}, nil
}

// Close closes and removes the file.
func (s *Scratch) Close() error {
	err := s.File.Close()
	if s.stays {
		s.stays = false
		err = errors.Join(err, os.Remove(s.Name()))
	}
	return err
}

// loading is the key of a context whose reading may use all cores, since no training runs until it ends.
type loading struct{}

// ToLoad returns a context with which rows are loaded into memory.
func ToLoad(ctx context.Context) context.Context { return context.WithValue(ctx, loading{}, true) }

// Loading reports whether rows are read with a context of [ToLoad]. All cores may be used then; otherwise a training
// loop runs at the same time.
func Loading(ctx context.Context) bool { return ctx.Value(loading{}) != nil }
