// Crashfs is a file system that fails by rule, and that knows what a power cut would leave of it:
//
//	crashfs BACKING MOUNT ADDR
//
// It shows the directory BACKING at MOUNT, and answers HTTP at ADDR:
//
//	/set?rule=OP:TEXT:ERRNO:PROBABILITY:COUNT:DELAY;…  operations on paths that contain TEXT fail, or take longer
//	/clear                                             no rule is left; it says how often each was hit
//	/cut?to=DIR&seed=N                                 every operation fails from now on, and DIR gets what a cut leaves
//	/stat                                              the numbers of operations
//
// After a cut, writes since a file's last fsync are there, in part, or not at all, or as zeros; changes of names since
// the last fsync of their directory are undone from the last one back. With EXT4 set in the environment, the fsync of a
// file makes all earlier changes of names durable, as ext4 does.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// rule has operations fail, or take longer. op is "*" for all, and left the number of hits that are left, below 0 for
// any number.
type rule struct {
	op, sub string
	errno   syscall.Errno
	prob    float64
	left    int
	delay   time.Duration
	hits    int
}

// dwrite is a write that no fsync has made durable, with what was there before.
type dwrite struct {
	off     int64
	n       int
	old     []byte
	oldSize int64
}

// mop is a change of names that no fsync of its directory has made durable. old is the file that a rename has replaced.
type mop struct {
	kind, a, b string
	ino, old   uint64
}

var (
	mu      sync.Mutex
	rules   []*rule
	off     bool
	backing string
	data    = map[uint64][]dwrite{}
	meta    []mop
	nops    = map[string]int{}
	strict  = true
)

// check counts an operation, and returns the error of the rules that it hits.
func check(op, path string) syscall.Errno {
	mu.Lock()
	if off {
		mu.Unlock()
		return syscall.EIO
	}
	nops[op]++
	var d time.Duration
	var e syscall.Errno
	for _, r := range rules {
		if r.op != "*" && r.op != op || !strings.Contains(path, r.sub) || r.left == 0 || rand.Float64() >= r.prob {
			continue
		}
		if r.left > 0 {
			r.left--
		}
		r.hits++
		d += r.delay
		if r.errno != 0 {
			e = r.errno
		}
	}
	mu.Unlock()
	time.Sleep(d)
	return e
}

type node struct{ fs.LoopbackNode }
type file struct {
	*fs.LoopbackFile
	path string
}

// dir is an open directory, whose fsync makes changes of names durable.
type dir struct {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
	of *node
}

func (d *dir) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	return d.of.Fsync(ctx, nil, flags)
}

func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, fl, e := n.LoopbackNode.OpendirHandle(ctx, flags)
	if e != 0 {
		return nil, 0, e
	}
	return &dir{h.(fs.FileReaddirenter), h.(fs.FileReleasedirer), h.(fs.FileSeekdirer), n}, fl, 0
}

func newNode(root *fs.LoopbackRoot, parent *fs.Inode, name string, st *syscall.Stat_t) fs.InodeEmbedder {
	return &node{fs.LoopbackNode{RootData: root}}
}
func (n *node) rel() string             { return n.Path(n.Root()) }
func (n *node) full(name string) string { return filepath.Join(backing, n.rel(), name) }
func inoOf(p string) (uint64, bool, int64) {
	var st syscall.Stat_t
	if syscall.Lstat(p, &st) != nil {
		return 0, false, 0
	}
	return st.Ino, st.Mode&syscall.S_IFMT == syscall.S_IFDIR, st.Size
}

// keep keeps a file that is about to lose its name.
func keep(p string, ino uint64) {
	_ = os.Link(p, filepath.Join(backing, "..", ".trash-"+filepath.Base(backing), fmt.Sprint(ino)))
}
func log(m mop) { mu.Lock(); meta = append(meta, m); mu.Unlock() }

func (n *node) wrap(fh fs.FileHandle, path string) fs.FileHandle {
	lf, ok := fh.(*fs.LoopbackFile)
	if !ok {
		return fh
	}
	return &file{LoopbackFile: lf, path: path}
}
func (n *node) Create(ctx context.Context, name string, flags uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	rel := filepath.Join(n.rel(), name)
	if e := check("create", rel); e != 0 {
		return nil, nil, 0, e
	}
	was, _, _ := inoOf(n.full(name))
	i, fh, fl, e := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if e == 0 && was == 0 {
		ino, _, _ := inoOf(n.full(name))
		log(mop{kind: "create", a: rel, ino: ino})
	}
	return i, n.wrap(fh, rel), fl, e
}
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if e := check("open", n.rel()); e != 0 {
		return nil, 0, e
	}
	if flags&syscall.O_TRUNC != 0 {
		n.trunc(0)
	}
	fh, fl, e := n.LoopbackNode.Open(ctx, flags)
	return n.wrap(fh, n.rel()), fl, e
}
func (n *node) trunc(to int64) {
	p := n.full("")
	ino, _, size := inoOf(p)
	d := dwrite{off: to, oldSize: size}
	if f, err := os.Open(p); err == nil && size > to {
		d.old = make([]byte, size-to)
		_, _ = f.ReadAt(d.old, to)
		f.Close()
	}
	mu.Lock()
	data[ino] = append(data[ino], d)
	mu.Unlock()
}
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if sz, ok := in.GetSize(); ok {
		if e := check("truncate", n.rel()); e != 0 {
			return e
		}
		n.trunc(int64(sz))
	}
	if w, ok := f.(*file); ok {
		return n.LoopbackNode.Setattr(ctx, w.LoopbackFile, in, out)
	}
	return n.LoopbackNode.Setattr(ctx, f, in, out)
}
func (n *node) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if w, ok := f.(*file); ok {
		return n.LoopbackNode.Getattr(ctx, w.LoopbackFile, out)
	}
	return n.LoopbackNode.Getattr(ctx, f, out)
}
func (n *node) CopyFileRange(ctx context.Context, fhIn fs.FileHandle, offIn uint64, out *fs.Inode, fhOut fs.FileHandle, offOut uint64, len uint64, flags uint64) (uint32, syscall.Errno) {
	return 0, syscall.ENOTSUP
}
func (n *node) Rename(ctx context.Context, name string, np fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	a, b := filepath.Join(n.rel(), name), filepath.Join(np.EmbeddedInode().Path(n.Root()), newName)
	if e := check("rename", b); e != 0 {
		return e
	}
	old, dir, _ := inoOf(filepath.Join(backing, b))
	if old != 0 && !dir {
		keep(filepath.Join(backing, b), old)
	}
	e := n.LoopbackNode.Rename(ctx, name, np, newName, flags)
	if e == 0 {
		log(mop{kind: "rename", a: a, b: b, old: old})
	}
	return e
}
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	rel := filepath.Join(n.rel(), name)
	if e := check("unlink", rel); e != 0 {
		return e
	}
	ino, _, _ := inoOf(n.full(name))
	keep(n.full(name), ino)
	e := n.LoopbackNode.Unlink(ctx, name)
	if e == 0 {
		log(mop{kind: "unlink", a: rel, ino: ino})
	}
	return e
}
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	rel := filepath.Join(n.rel(), name)
	if e := check("mkdir", rel); e != 0 {
		return nil, e
	}
	i, e := n.LoopbackNode.Mkdir(ctx, name, mode, out)
	if e == 0 {
		log(mop{kind: "mkdir", a: rel})
	}
	return i, e
}
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	rel := filepath.Join(n.rel(), name)
	if e := check("rmdir", rel); e != 0 {
		return e
	}
	e := n.LoopbackNode.Rmdir(ctx, name)
	if e == 0 {
		log(mop{kind: "rmdir", a: rel})
	}
	return e
}
func (n *node) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	if w, ok := f.(*file); ok {
		return w.Fsync(ctx, flags)
	}
	if e := check("fsyncdir", n.rel()); e != 0 {
		return e
	}
	// what has happened in this directory, and before it, is durable
	dir := n.rel()
	mu.Lock()
	last := -1
	for i, m := range meta {
		if filepath.Dir("/"+m.a) == filepath.Clean("/"+dir) || m.b != "" && filepath.Dir("/"+m.b) == filepath.Clean("/"+dir) {
			last = i
		}
	}
	meta = append([]mop(nil), meta[last+1:]...)
	mu.Unlock()
	return 0
}
func (f *file) Write(ctx context.Context, b []byte, at int64) (uint32, syscall.Errno) {
	if e := check("write", f.path); e != 0 {
		return 0, e
	}
	var a fuse.AttrOut
	_ = f.LoopbackFile.Getattr(ctx, &a)
	d := dwrite{off: at, n: len(b), oldSize: int64(a.Size)}
	if at < d.oldSize {
		d.old = make([]byte, min(int64(len(b)), d.oldSize-at))
		if r, e := f.LoopbackFile.Read(ctx, d.old, at); e == 0 && r != nil {
			x, _ := r.Bytes(d.old)
			d.old = append([]byte(nil), x...)
		}
	}
	mu.Lock()
	data[a.Ino] = append(data[a.Ino], d)
	mu.Unlock()
	return f.LoopbackFile.Write(ctx, b, at)
}
func (f *file) Read(ctx context.Context, b []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	if e := check("read", f.path); e != 0 {
		return nil, e
	}
	return f.LoopbackFile.Read(ctx, b, at)
}
func (f *file) Allocate(ctx context.Context, o, s uint64, mode uint32) syscall.Errno {
	return syscall.ENOTSUP
}
func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if e := check("fsync", f.path); e != 0 {
		return e
	}
	var a fuse.AttrOut
	_ = f.LoopbackFile.Getattr(ctx, &a)
	mu.Lock()
	delete(data, a.Ino)
	if !strict { // as ext4: its name too, and all metadata before
		meta = nil
	}
	mu.Unlock()
	return 0
}

// undo returns what a cut leaves of a file's content.
func undo(b []byte, ws []dwrite, r *rand.Rand) []byte {
	how := r.Intn(4)
	k := len(ws)
	switch how {
	case 0:
		return b // all of it was written back
	case 1:
		k = 0
	default:
		k = r.Intn(len(ws) + 1)
	}
	full := int64(len(b))
	for i := len(ws) - 1; i >= k; i-- {
		w := ws[i]
		if int64(len(b)) < w.oldSize {
			b = append(b, make([]byte, w.oldSize-int64(len(b)))...)
		}
		copy(b[min(w.off, int64(len(b))):], w.old)
		b = b[:w.oldSize]
	}
	if how == 3 && full > int64(len(b)) { // the size was written, the data not
		b = append(b, make([]byte, r.Int63n(full-int64(len(b)))+1)...)
	}
	return b
}

// cut makes every later operation fail, and writes to a directory what a cut leaves.
func cut(to string, seed int64) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	off = true
	r := rand.New(rand.NewSource(seed))
	tree := map[string]uint64{}
	err := filepath.WalkDir(backing, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(backing, p)
		ino, dir, _ := inoOf(p)
		if dir {
			ino = 0
		}
		tree[rel] = ino
		return nil
	})
	if err != nil {
		return "", err
	}
	content := map[uint64]string{}
	for p, ino := range tree {
		if ino != 0 {
			content[ino] = filepath.Join(backing, p)
		}
	}
	trash, _ := os.ReadDir(filepath.Join(backing, "..", ".trash-"+filepath.Base(backing)))
	for _, t := range trash {
		ino, _ := strconv.ParseUint(t.Name(), 10, 64)
		if content[ino] == "" {
			content[ino] = filepath.Join(backing, "..", ".trash-"+filepath.Base(backing), t.Name())
		}
	}
	k := r.Intn(len(meta) + 1)
	for i := len(meta) - 1; i >= k; i-- {
		m := meta[i]
		move := func(a, b string) {
			for p, ino := range tree {
				if p == a || strings.HasPrefix(p, a+"/") {
					delete(tree, p)
					tree[b+p[len(a):]] = ino
				}
			}
		}
		drop := func(a string) {
			for p := range tree {
				if p == a || strings.HasPrefix(p, a+"/") {
					delete(tree, p)
				}
			}
		}
		switch m.kind {
		case "create", "mkdir":
			drop(m.a)
		case "unlink":
			tree[m.a] = m.ino
		case "rmdir":
			tree[m.a] = 0
		case "rename":
			move(m.b, m.a)
			if m.old != 0 {
				tree[m.b] = m.old
			}
		}
	}
	paths := make([]string, 0, len(tree))
	for p := range tree {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	changed := 0
	done := map[uint64][]byte{}
	for _, p := range paths {
		ino := tree[p]
		at := filepath.Join(to, p)
		if ino == 0 {
			_ = os.MkdirAll(at, 0o755)
			continue
		}
		b, ok := done[ino]
		if !ok {
			if b, err = os.ReadFile(content[ino]); err != nil {
				continue
			}
			if ws := data[ino]; len(ws) > 0 {
				n := len(b)
				if b = undo(b, ws, r); len(b) != n {
					changed++
				}
			}
			done[ino] = b
		}
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		if err := os.WriteFile(at, b, 0o600); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("files %d, metadata undone %d of %d, files cut %d of %d dirty", len(paths), len(meta)-k, len(meta), changed, len(data)), nil
}

func main() {
	backing = os.Args[1]
	mnt := os.Args[2]
	_ = os.MkdirAll(backing, 0o755)
	_ = os.MkdirAll(filepath.Join(backing, "..", ".trash-"+filepath.Base(backing)), 0o755)
	if os.Getenv("EXT4") != "" {
		strict = false
	}
	lr, err := fs.NewLoopbackRoot(backing)
	if err != nil {
		panic(err)
	}
	rd := lr.(*fs.LoopbackNode).RootData
	rd.NewNode = newNode
	root := newNode(rd, nil, "", nil)
	rd.RootNode = root
	sec := time.Duration(0)
	o := &fs.Options{EntryTimeout: &sec, AttrTimeout: &sec}
	o.DirectMount = true
	o.MaxWrite = 1 << 20
	s, err := fs.Mount(mnt, root, o)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/set", func(w http.ResponseWriter, q *http.Request) {
		names := map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EROFS": syscall.EROFS, "EDQUOT": syscall.EDQUOT, "ESTALE": syscall.ESTALE, "EACCES": syscall.EACCES, "0": 0}
		mu.Lock()
		defer mu.Unlock()
		for _, t := range strings.Split(q.FormValue("rule"), ";") {
			f := strings.Split(t, ":")
			x := &rule{op: f[0], sub: f[1], errno: names[f[2]]}
			x.prob, _ = strconv.ParseFloat(f[3], 64)
			x.left, _ = strconv.Atoi(f[4])
			x.delay, _ = time.ParseDuration(f[5])
			rules = append(rules, x)
		}
	})
	http.HandleFunc("/clear", func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		for _, r := range rules {
			fmt.Fprintf(w, "%s %s %v hit %d; ", r.op, r.sub, r.errno, r.hits)
		}
		rules = nil
		mu.Unlock()
	})
	http.HandleFunc("/cut", func(w http.ResponseWriter, q *http.Request) {
		seed, _ := strconv.ParseInt(q.FormValue("seed"), 10, 64)
		t, err := cut(q.FormValue("to"), seed)
		fmt.Fprintln(w, t, err)
	})
	http.HandleFunc("/stat", func(w http.ResponseWriter, q *http.Request) { mu.Lock(); fmt.Fprintln(w, nops); mu.Unlock() })
	go func() { panic(http.ListenAndServe(os.Args[3], nil)) }()
	s.Wait()
}
