package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// Memory is a store in memory.
type Memory struct {
	mu       sync.Mutex
	fault    func(Request) Fault
	files    map[string]file
	requests int
	changes  []Change
	late     []func()
}

// Request is a request to a store.
type Request struct {
	Number int    // from 1
	Op     string // stat, open, put, list or remove
	Name   string
}

// Fault is the fault of a request. The zero value means none.
type Fault struct {
	// Err is returned without doing anything.
	Err error
	// Lost does the request but loses the answer: the error is Err, or one that says so.
	Lost bool
	// Hang does nothing until the context ends.
	Hang bool
	// Late makes a put hang; it is done when Arrive is called, if its condition then holds.
	Late bool
	// Cut, if positive, is the number of bytes of a file to send before an error.
	Cut int64
}

// Change is a put or a removal that was done.
type Change struct {
	Name    string
	Content []byte
	Removed bool
}

type file struct {
	content  []byte
	version  string
	modified time.Time
}

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{files: map[string]file{}} }

var mounted atomic.Int64

// Mount mounts a store for a test, and returns the beginning of its URLs.
func Mount(t testing.TB, s store.Store) (url string) {
	t.Helper()
	scheme := fmt.Sprintf("mem%d", mounted.Add(1))
	if err := store.Mount(scheme, s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Unmount(scheme) })
	return scheme + "://test"
}

// errLost is the error for a lost answer.
var errLost = errors.New("storetest: the answer was lost")

// SetFault sets a function that is called before each request, possibly concurrently, and returns its fault. nil means
// no faults from now on.
func (m *Memory) SetFault(fault func(Request) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault
}

// enter counts a request and applies its fault; done reports whether the request is to be done.
func (m *Memory) enter(ctx context.Context, op, name string) (f Fault, done bool, err error) {
	m.mu.Lock()
	m.requests++
	r, fault := Request{m.requests, op, name}, m.fault
	m.mu.Unlock()
	if fault != nil {
		f = fault(r)
	}
	switch {
	case f.Hang || f.Late:
		<-ctx.Done()
		return f, false, context.Cause(ctx)
	case f.Lost:
		if f.Err == nil {
			f.Err = errLost
		}
		return f, true, f.Err
	case f.Err != nil:
		return f, false, f.Err
	}
	return f, true, context.Cause(ctx)
}

// Requests returns the number of requests so far.
func (m *Memory) Requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}

// Changes returns all changes, in order.
func (m *Memory) Changes() []Change {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.changes)
}

// After returns the store as it was after the first n changes, for tests of a process that dies between two changes.
func (m *Memory) After(n int) *Memory {
	was := NewMemory()
	for _, c := range m.Changes()[:n] {
		if c.Removed {
			delete(was.files, c.Name)
		} else {
			was.files[c.Name] = file{c.Content, was.version(), time.Now()}
		}
		was.changes = append(was.changes, c)
	}
	return was
}

// Names returns the names of all files.
func (m *Memory) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files))
}

// Content returns the content of a file; nil if there is none.
func (m *Memory) Content(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.files[name].content)
}

// Set changes a file's content and modification time, without checking conditions.
func (m *Memory) Set(name string, content []byte, when time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = file{slices.Clone(content), m.version(), when}
}

var versions atomic.Int64

func (m *Memory) version() string { return fmt.Sprint("v", versions.Add(1)) }

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// Stat implements [store.Store].
func (m *Memory) Stat(ctx context.Context, name string) (store.Info, error) {
	if _, done, err := m.enter(ctx, "stat", name); !done || err != nil {
		return store.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	if !ok {
		return store.Info{}, missing("stat", name)
	}
	return f.info(name), nil
}

func (f file) info(name string) store.Info {
	return store.Info{Name: path.Base(name), Size: int64(len(f.content)), Modified: f.modified, Version: f.version}
}

// Open implements [store.Store].
func (m *Memory) Open(ctx context.Context, name string, r store.Range) (io.ReadCloser, error) {
	fault, done, err := m.enter(ctx, "open", name)
	if !done || err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	switch {
	case !ok:
		return nil, missing("open", name)
	case r.Version != "" && r.Version != f.version:
		return nil, store.ErrChanged
	}
	part := f.content[min(r.From, int64(len(f.content))):]
	if r.Bytes > 0 {
		part = part[:min(r.Bytes, int64(len(part)))]
	}
	if fault.Cut > 0 && fault.Cut < int64(len(part)) {
		broken := io.MultiReader(bytes.NewReader(part[:fault.Cut]), failing{})
		return io.NopCloser(broken), nil
	}
	return io.NopCloser(bytes.NewReader(part)), nil
}

// failing is a reader for a broken connection.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("storetest: the line has broken off") }

// Put implements [store.Store].
func (m *Memory) Put(ctx context.Context, name string, content *io.SectionReader, c store.Condition) (string, error) {
	fault, done, failed := m.enter(ctx, "put", name)
	if !done && !fault.Late {
		return "", failed
	}
	data, err := io.ReadAll(io.NewSectionReader(content, 0, content.Size()))
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if fault.Late {
		m.late = append(m.late, func() { _, _ = m.put(name, data, c, nil) })
		return "", failed
	}
	return m.put(name, data, c, failed)
}

// Arrive does the puts that Late has delayed.
func (m *Memory) Arrive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, do := range m.late {
		do()
	}
	m.late = nil
}

// put does a put, and returns failed as its error if that is not nil. mu is held.
func (m *Memory) put(name string, data []byte, c store.Condition, failed error) (string, error) {
	f, ok := m.files[name]
	if c.Absent && ok || c.Version != "" && c.Version != f.version {
		return "", errors.Join(store.ErrChanged, failed)
	}
	f = file{data, m.version(), time.Now()}
	m.files[name] = f
	m.changes = append(m.changes, Change{Name: name, Content: data})
	return f.version, failed
}

// List implements [store.Store].
func (m *Memory) List(ctx context.Context, dir string) (all []store.Info, err error) {
	if _, done, err := m.enter(ctx, "list", dir); !done || err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dirs := map[string]bool{}
	for name, f := range m.files {
		rest, below := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
		if !below {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		switch {
		case !deeper:
			all = append(all, f.info(name))
		case !dirs[first]:
			dirs[first] = true
			all = append(all, store.Info{Name: first, Dir: true})
		}
	}
	return all, nil
}

// Remove implements [store.Store].
func (m *Memory) Remove(ctx context.Context, name string) error {
	_, done, failed := m.enter(ctx, "remove", name)
	if !done {
		return failed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[name]; ok {
		delete(m.files, name)
		m.changes = append(m.changes, Change{Name: name, Removed: true})
	}
	return failed
}
