package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
)

// quick is a disk that no test waits for.
type quick struct{ files.OS }

func (quick) SyncDir(string) error { return nil }

func (d quick) CreateTemp(dir, pattern string) (files.Temp, error) {
	f, err := d.OS.CreateTemp(dir, pattern)
	return quickTemp{f}, err
}

type quickTemp struct{ files.Temp }

func (quickTemp) Sync() error { return nil }

// record is a file system that remembers all that was done to it, as operations on names and on the files behind them.
type record struct {
	quick
	root string
	ops  []op
	next int // inode
	of   map[string]int
}

// op is one operation. Names are below the root.
type op struct {
	kind       string // create, write, sync, rename, remove, mkdir, syncdir
	name, from string
	inode      int
	data       []byte
}

// remember puts a record in the place of the disk.
func remember(t *testing.T) *record {
	r := &record{root: t.TempDir(), of: map[string]int{}}
	disk = r
	t.Cleanup(func() { disk = files.OS{} })
	return r
}

// add notes an operation that has worked.
func (r *record) add(o op, err error) error {
	if err == nil {
		o.name, o.from = r.below(o.name), r.below(o.from)
		r.ops = append(r.ops, o)
	}
	return err
}

// below is a name without the root's.
func (r *record) below(name string) string {
	if name == r.root {
		return "."
	}
	return strings.TrimPrefix(name, r.root+"/")
}

func (r *record) CreateTemp(dir, pattern string) (files.Temp, error) {
	f, err := r.quick.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	r.next++
	r.of[f.Name()] = r.next
	return &remembered{f, r, r.next}, r.add(op{kind: "create", name: f.Name(), inode: r.next}, nil)
}

func (r *record) Mkdir(dir string) error {
	return r.add(op{kind: "mkdir", name: dir}, r.quick.Mkdir(dir))
}

func (r *record) Rename(from, to string) error {
	err := r.add(op{kind: "rename", from: from, name: to, inode: r.of[from]}, r.quick.Rename(from, to))
	if err == nil {
		r.of[to] = r.of[from]
	}
	return err
}

func (r *record) Remove(name string) error {
	return r.add(op{kind: "remove", name: name}, r.quick.Remove(name))
}

func (r *record) SyncDir(dir string) error {
	return r.add(op{kind: "syncdir", name: dir}, r.quick.SyncDir(dir))
}

type remembered struct {
	files.Temp
	r     *record
	inode int
}

func (f *remembered) Write(b []byte) (int, error) {
	n, err := f.Temp.Write(b)
	return n, f.r.add(op{kind: "write", inode: f.inode, data: slices.Clone(b)}, err)
}

func (f *remembered) Sync() error {
	return f.r.add(op{kind: "sync", inode: f.inode}, f.Temp.Sync())
}

// crash is how a machine stops behind some operations.
type crash struct {
	ops []op
	// lost are operations on names that no sync has made durable, by index.
	lost map[int]bool
	// tail is the share of bytes written since a file's last sync that is there: a power cut may leave any.
	tail float64
}

// left is what is on disk then: directories with nil, files with their bytes.
func (c crash) left() map[string][]byte {
	data, synced := map[int][]byte{}, map[int]int{}
	for _, o := range c.ops {
		switch o.kind {
		case "write":
			data[o.inode] = append(data[o.inode], o.data...)
		case "sync":
			synced[o.inode] = len(data[o.inode])
		}
	}
	names, dirs := map[string]int{}, map[string]bool{".": true}
	for i, o := range c.ops {
		if c.lost[i] {
			continue
		}
		switch o.kind {
		case "create":
			names[o.name] = o.inode
		case "rename":
			delete(names, o.from)
			names[o.name] = o.inode
		case "remove":
			delete(names, o.name)
			delete(dirs, o.name)
		case "mkdir":
			dirs[o.name] = true
		}
	}
	state := map[string][]byte{}
	for dir := range dirs {
		state[dir] = nil
	}
	for name, inode := range names {
		if dirs[filepath.Dir(name)] {
			all, sure := data[inode], synced[inode]
			state[name] = append([]byte{}, all[:sure+int(c.tail*float64(len(all)-sure))]...)
		}
	}
	return state
}

// pending are the operations on names that no sync of their directory has made durable.
func pending(ops []op) (all []int) {
	for i, o := range ops {
		dir := filepath.Dir(o.name)
		durable := slices.ContainsFunc(ops[i:], func(s op) bool { return s.kind == "syncdir" && s.name == dir })
		if slices.Contains([]string{"create", "rename", "remove", "mkdir"}, o.kind) && !durable {
			all = append(all, i)
		}
	}
	return all
}

// crashes are the ways to stop behind the first n operations: the process alone, at a byte of its last write, or the machine, which loses
// any of what was not synced; of many operations each alone, each that is kept alone, and all.
func (r *record) crashes(n int) (all []crash) {
	ops := r.ops[:n]
	if n > 0 && ops[n-1].kind == "write" {
		for _, share := range []int{0, 1, 3} {
			torn := slices.Clone(ops)
			torn[n-1].data = torn[n-1].data[:len(torn[n-1].data)*share/3]
			all = append(all, crash{ops: torn, tail: 1})
		}
	} else {
		all = append(all, crash{ops: ops, tail: 1})
	}
	open := pending(ops)
	var losses []map[int]bool
	if len(open) <= 5 {
		for bits := range 1 << len(open) {
			lost := map[int]bool{}
			for i, at := range open {
				lost[at] = bits>>i&1 == 1
			}
			losses = append(losses, lost)
		}
	} else {
		none := map[int]bool{}
		for _, at := range open {
			none[at] = true
		}
		losses = append(losses, none, nil)
		for _, at := range open {
			but := maps.Clone(none)
			delete(but, at)
			losses = append(losses, map[int]bool{at: true}, but)
		}
	}
	for _, lost := range losses {
		for _, tail := range []float64{0, 0.6, 1} {
			all = append(all, crash{ops: ops, lost: lost, tail: tail})
		}
	}
	return all
}

// eachState calls do with every state of the disk that a stop may leave, in a directory of its own, with the number of operations before
// it and the last update that was acknowledged then. acked has these by operations.
func (r *record) eachState(t *testing.T, acked map[int]int64, do func(dir string, n int, newest int64)) (states int) {
	seen := map[string]bool{}
	var newest int64
	for n := range len(r.ops) + 1 {
		newest = max(newest, acked[n])
		for _, c := range r.crashes(n) {
			state := c.left()
			key := fmt.Sprint(newest, state)
			if seen[key] {
				continue
			}
			seen[key] = true
			states++
			dir := filepath.Join(t.TempDir(), "state")
			for _, name := range slices.Sorted(maps.Keys(state)) {
				if state[name] == nil {
					check(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
				} else {
					check(t, os.WriteFile(filepath.Join(dir, name), state[name], 0o600))
				}
			}
			do(dir, n, newest)
			check(t, os.RemoveAll(filepath.Dir(dir)))
		}
	}
	return states
}

// loads says which update a checkpoint is of, after all of it was read into tables.
func loads(t *testing.T, dir string) (step int64, err error) {
	store := stores(t, 1)[0]
	m, err := Load(context.Background(), dir, store, rule, model(), everything)
	if err == nil && (store.Step() != m.Step || store.Tables[0].Len() != rows) {
		t.Errorf("%s: update %d with %d rows, its manifest says %d", dir, store.Step(), store.Tables[0].Len(), m.Step)
	}
	return m.Step, err
}

// commit makes a checkpoint of an update by two servers.
func commit(t *testing.T, dir string, step int64) {
	t.Helper()
	m := Manifest{ID: fmt.Sprint("s", step), Rule: rule.Name(), Step: step, Params: Params(model())}
	for i, s := range trained(t, 2) {
		p, err := WritePart(t.Context(), dir, PartName(m.ID, i, 2), s)
		check(t, err)
		m.Parts = append(m.Parts, p)
	}
	check(t, Commit(dir, m))
}

// TestEveryCrashOfASeries stops a job at every operation of three checkpoints, of which the last and a pinned one stay: whatever the
// process or the machine loses, the newest that was acknowledged is found and loads, every other is whole or said to be torn, and what
// was pinned is whole.
//
// Promise: [G6] at whatever operation a process or a machine stops, losing any of what no sync made durable, what was
// acknowledged last is found, or what followed it; whatever else is there is whole or said to be torn
// Also: TestEveryCrashOfASave
func TestEveryCrashOfASeries(t *testing.T) {
	law.Slow(t)
	r := remember(t)
	s, said := newSeries(r.root, 1)
	defer s.Release()
	acked := map[int]int64{} // by operations: the newest acknowledged
	pinned := 0              // operations until a pin was
	for step := range int64(3) {
		dir, err := s.Make(t.Context())
		check(t, err)
		commit(t, dir, step+1)
		acked[len(r.ops)] = step + 1
		if step == 0 {
			check(t, Pin(dir))
			pinned = len(r.ops)
		}
		s.Prune()
	}
	if said.Len() > 0 {
		t.Errorf("the log has %s", said)
	}
	disk = files.OS{}
	found := map[int64]int{}
	states := r.eachState(t, acked, func(dir string, n int, newest int64) {
		checkSeries(t, dir, newest, found)
		if _, err := loads(t, filepath.Join(dir, name(1))); n >= pinned && err != nil {
			t.Errorf("after %d operations the pinned one is gone: %v", n, err)
		}
	})
	t.Logf("%d operations, %d states; updates gone on from: %v", len(r.ops), states, found)
	if states < 60 || len(found) < 4 {
		t.Errorf("only %d states, which go on from %v", states, found)
	}
}

// checkSeries goes on from what a crash has left.
func checkSeries(t *testing.T, dir string, acked int64, found map[int64]int) {
	t.Helper()
	var step int64
	s, _ := newSeries(dir, 2)
	_, err := s.Resume(t.Context(), func(dir string) (err error) { step, err = loads(t, dir); return err })
	found[step]++
	if err != nil && !Torn(err) || step < acked {
		t.Errorf("update %d was acknowledged, and the job goes on from %d, error %v", acked, step, err)
	}
	if latest, m, err := Latest(dir); acked > 0 && (err != nil || m.Step < acked) {
		t.Errorf("update %d was acknowledged, the latest is %s of %d, error %v", acked, latest, m.Step, err)
	}
	all, _ := numbers(dir)
	for _, n := range all {
		if _, err := loads(t, files.Join(dir, name(n))); err != nil && !Torn(err) {
			t.Errorf("%s: %v", name(n), err)
		}
	}
}

// TestEveryCrashOfASave stops a job at every operation of three saves into one directory: it holds the old checkpoint or the new one, whole,
// from the first that was acknowledged on.
func TestEveryCrashOfASave(t *testing.T) {
	law.Slow(t)
	r := remember(t)
	dir := filepath.Join(r.root, "model")
	acked := map[int]int64{}
	for step := range int64(3) {
		commit(t, dir, step+1)
		acked[len(r.ops)] = step + 1
	}
	disk = files.OS{}
	found := map[int64]int{}
	states := r.eachState(t, acked, func(dir string, n int, newest int64) {
		step, err := loads(t, filepath.Join(dir, "model"))
		if err != nil {
			step = 0
		}
		found[step]++
		if step < newest || err != nil && !Torn(err) {
			t.Errorf("update %d was acknowledged, and there is %d after %d operations, error %v", newest, step, n, err)
		}
	})
	t.Logf("%d operations, %d states; they hold updates %v", len(r.ops), states, found)
	if states < 60 || len(found) < 4 {
		t.Errorf("only %d states, which hold %v", states, found)
	}
}

// failing is a disk of which an operation fails, and with always all after it.
type failing struct {
	quick
	at     int // operations until then
	always bool
	err    error
	failed string // the kind of operation that did
	name   string
}

func (d *failing) fails(kind, name string) error {
	d.at--
	if d.at == 0 || d.at < 0 && d.always {
		if d.at == 0 {
			d.failed, d.name = kind, name
		}
		return &fs.PathError{Op: kind, Path: name, Err: d.err}
	}
	return nil
}

func (d *failing) CreateTemp(dir, pattern string) (files.Temp, error) {
	if err := d.fails("create", filepath.Join(dir, pattern)); err != nil {
		return nil, err
	}
	f, err := d.quick.CreateTemp(dir, pattern)
	return &failingTemp{f, d}, err
}

func (d *failing) Mkdir(dir string) error {
	if err := d.fails("mkdir", dir); err != nil {
		return err
	}
	return d.OS.Mkdir(dir)
}

func (d *failing) Rename(from, to string) error {
	if err := d.fails("rename", to); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *failing) Remove(name string) error {
	if err := d.fails("remove", name); err != nil {
		return err
	}
	return d.OS.Remove(name)
}

func (d *failing) SyncDir(dir string) error {
	if err := d.fails("syncdir", dir); err != nil {
		return err
	}
	return d.quick.SyncDir(dir)
}

type failingTemp struct {
	files.Temp
	d *failing
}

// Write writes half of what it is given when it fails, as a disk does that gets full.
func (f *failingTemp) Write(b []byte) (int, error) {
	if err := f.d.fails("write", f.Name()); err != nil {
		n, _ := f.Temp.Write(b[:len(b)/2])
		return n, err
	}
	return f.Temp.Write(b)
}

func (f *failingTemp) Sync() error {
	if err := f.d.fails("sync", f.Name()); err != nil {
		return err
	}
	return f.Temp.Sync()
}

// attempt makes the next checkpoint of a series, and ends as servers do where that fails: the parts that were written go.
func attempt(t *testing.T, s *Series, step int64) error {
	dir, err := s.Make(t.Context())
	if err != nil {
		return err
	}
	m := Manifest{ID: fmt.Sprint("s", step), Rule: rule.Name(), Step: step, Params: Params(model())}
	for i, store := range trained(t, 2) {
		p, err := WritePart(t.Context(), dir, PartName(m.ID, i, 2), store)
		if err != nil {
			return errors.Join(err, discard(dir, m))
		}
		m.Parts = append(m.Parts, p)
	}
	if err := Commit(dir, m); err != nil {
		return errors.Join(err, discard(dir, m))
	}
	s.Prune()
	return nil
}

func discard(dir string, m Manifest) (err error) {
	for _, p := range m.Parts {
		err = errors.Join(err, Discard(dir, p.File))
	}
	return err
}

// TestDisksThatFail has every operation of a checkpoint fail, once and from then on, for every reason: the ones before stay, the error names
// the file and the cause, and on a disk that works again the next is made and nothing is left of those that failed.
//
// Promise: [G6] whichever operation a disk refuses, full, read-only or broken: the ones before stay, the error names
// file and cause, and the next leaves nothing of what failed
func TestDisksThatFail(t *testing.T) {
	law.Slow(t)
	full, readOnly, broken := errors.New("no space left on device"), errors.New("read-only file system"), errors.New("input/output error")
	kinds := map[string]int{}
	defer func() { disk = files.OS{} }()
	for _, c := range law.Some(t, []struct {
		cause  error
		always bool
	}{{full, false}, {broken, false}, {readOnly, true}}) {
		cause, always := c.cause, c.always
		for at, over := 1, false; !over; at++ {
			disk = quick{}
			s, said := newSeries(t.TempDir(), 2)
			check(t, attempt(t, s, 1))
			check(t, attempt(t, s, 2))
			d := &failing{at: at, always: always, err: cause}
			disk = d
			err := attempt(t, s, 3)
			over = d.failed == ""
			kinds[d.failed]++
			told := err
			if said.Len() > 0 {
				told = errors.Join(err, errors.New(said.String()))
			}
			whatFailed := fmt.Sprintf("operation %d (%s %s, then %t)", at, d.failed, d.name, always)
			newest, latest, lost := Latest(s.Dir)
			if lost != nil || latest.Step != 2 && latest.Step != 3 || err == nil && latest.Step != 3 {
				t.Errorf("%s: %v, the latest is %s, error %v", whatFailed, err, newest, lost)
			}
			if _, lost := loads(t, newest); lost != nil {
				t.Errorf("%s: %v", whatFailed, lost)
			}
			if !over && err == nil && d.failed != "remove" && d.failed != "rename" || err != nil && !errors.Is(err, cause) {
				t.Errorf("%s: error %v", whatFailed, err)
			}
			if err != nil && !strings.Contains(told.Error(), filepath.Base(s.Dir)) {
				t.Errorf("%s: error %v names no file", whatFailed, err)
			}
			disk = quick{}
			check(t, attempt(t, s, 4))
			checkClean(t, s, whatFailed)
			s.Release()
		}
	}
	for _, kind := range []string{"create", "write", "sync", "syncdir", "rename", "remove", "mkdir"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s failed: %v", kind, kinds)
		}
	}
}

// checkClean finds the last two checkpoints of a series whole, and nothing else.
func checkClean(t *testing.T, s *Series, what string) {
	t.Helper()
	all, err := numbers(s.Dir)
	check(t, err)
	if len(all) != 2 {
		t.Errorf("%s: there are %v", what, all)
	}
	for _, n := range all {
		dir := filepath.Join(s.Dir, name(n))
		if left := listed(t, dir); len(left) != 3 {
			t.Errorf("%s: %s has %v", what, name(n), left)
		}
		if _, err := loads(t, dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
