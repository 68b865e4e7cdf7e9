package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

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

// What is not durable, guarded by mu.
var (
	data   = map[uint64][]dwrite{}
	meta   []mop
	strict = true // an fsync makes no names durable but those of its directory
)

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
