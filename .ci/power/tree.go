package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// backing is the directory that is shown.
var backing string

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
