package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
)

// open opens the journal of a directory.
func open(t *testing.T, dir string, durable bool) *Journal {
	t.Helper()
	j, err := Open(Options{Dir: dir, Name: "j", Durable: durable})
	law.Check(t, err)
	t.Cleanup(j.Close)
	return j
}

// written makes a journal of two segments with some records each, of sizes from nothing to more than a buffer, and returns what they are.
func written(t *testing.T, dir string, durable bool) (all []string) {
	t.Helper()
	j := open(t, dir, durable)
	for s := range 2 {
		law.Check(t, j.Next(fmt.Appendf(nil, "head %d", s)))
		for i, size := range []int{0, 1, 100, 5000} {
			parts := [][]byte{bytes.Repeat([]byte{byte(i)}, size), []byte("end")}
			law.Check(t, errors.Join(j.Append(Kind(i+1), parts...), j.Durable()))
			all = append(all, fmt.Sprintf("%d %x", i+1, bytes.Join(parts, nil)))
		}
	}
	j.Close()
	return all
}

// played is what a journal gives back from its first segment on.
func played(j *Journal) (all []string, err error) {
	if len(j.Segments()) == 0 {
		return nil, nil
	}
	err = j.Play(j.Segments()[0].Number, func(kind Kind, body []byte) error {
		all = append(all, fmt.Sprintf("%d %x", kind, body))
		return nil
	})
	return all, err
}

// Promise: [G6] a journal that ends anywhere, is damaged or of another start of the machine gives back what was
// written, or nothing; of what a machine that lost power had not synced, a beginning, and all before that
// Also: TestTornAnywhere, TestDamageIsSeen, TestPowerFails, TestReboot, TestOneProcess, TestAfterAnError
func TestPlay(t *testing.T) {
	for _, durable := range []bool{false, true} {
		dir := t.TempDir()
		want := written(t, dir, durable)
		j := open(t, dir, durable)
		if s := j.Segments(); len(s) != 2 || string(s[0].Head) != "head 0" || string(s[1].Head) != "head 1" {
			t.Fatalf("%+v", s)
		}
		got, err := played(j)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %d records, want %d", err, len(got), len(want))
		}
		law.Check(t, errors.Join(j.Append(9, []byte("more")), j.Next(nil), j.Append(9), j.Forget(2)))
		j.Close()
		j = open(t, dir, durable)
		got, err = played(j)
		if want := append(want[4:], "9 6d6f7265", "9 "); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", err, got, want)
		}
		if err := j.Void(); err != nil || len(j.Segments()) > 0 {
			t.Fatal(err)
		}
		if err := errors.Join(j.Append(1), j.Durable(), j.Next(nil), j.Append(1), j.Durable()); err != nil {
			t.Error(err)
		}
		j.Close()
		if j = open(t, dir, durable); len(j.Segments()) > 0 {
			t.Errorf("a journal that is void has kept %+v", j.Segments())
		}
		if err := j.Append(1); err == nil {
			t.Error("a record was appended to no segment")
		}
	}
}

// TestTornAnywhere cuts the last segment at each of its bytes: what comes back is what was whole, and more can be appended.
func TestTornAnywhere(t *testing.T) {
	law.Slow(t)
	dir := t.TempDir()
	want := written(t, dir, false)
	first, path := filepath.Join(dir, "j.000001"), filepath.Join(dir, "j.000002")
	before, err := os.ReadFile(first)
	law.Check(t, err)
	whole, err := os.ReadFile(path)
	law.Check(t, err)
	for n := range whole {
		if n > 200 && n%97 != 0 {
			continue // within the body of the last, large record
		}
		clean(t, dir)
		law.Check(t, errors.Join(os.WriteFile(first, before, 0o644), os.WriteFile(path, whole[:n], 0o644)))
		j := open(t, dir, false)
		got, err := played(j)
		if err != nil || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || len(got) < 4 {
			t.Fatalf("cut at %d: %v, %d records", n, err, len(got))
		}
		law.Check(t, j.Append(7, []byte("after")))
		j.Close()
		j = open(t, dir, false)
		again, err := played(j)
		if err != nil || !slices.Equal(again, append(slices.Clip(got), "7 6166746572")) {
			t.Fatalf("cut at %d, and continued: %v, %q", n, err, again)
		}
		j.Close()
	}
}

// TestDamageIsSeen flips a bit in each byte of either segment: never is a record played that was not written, and never is one that was
// taken for what was being written. A durable journal may lack its last mark.
func TestDamageIsSeen(t *testing.T) {
	law.Slow(t)
	for _, durable := range law.Some(t, []bool{false, true}) {
		dir := t.TempDir()
		want := written(t, dir, durable)
		segments := map[string][]byte{"j.000001": nil, "j.000002": nil}
		for name := range segments {
			whole, err := os.ReadFile(filepath.Join(dir, name))
			law.Check(t, err)
			segments[name] = whole
		}
		for name, whole := range segments {
			path := filepath.Join(dir, name)
			for n := range whole {
				if n > 200 && n%97 != 0 {
					continue
				}
				clean(t, dir)
				for name, whole := range segments {
					law.Check(t, os.WriteFile(filepath.Join(dir, name), whole, 0o644))
				}
				bad := slices.Clone(whole)
				bad[n] ^= 1 << (n % 8)
				law.Check(t, os.WriteFile(path, bad, 0o644))
				j, err := Open(Options{Dir: dir, Name: "j", Durable: durable})
				var got []string
				if err == nil {
					got, err = played(j)
					j.Close()
				}
				if err == nil && (!durable || len(got) < len(want)) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("durable %t, %s byte %d: %v, %d records", durable, name, n, err, len(got))
				}
				if err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), filepath.Join(dir, "j.00000"))) {
					t.Fatalf("durable %t, %s byte %d: %v names no file, or no damage", durable, name, n, err)
				}
			}
		}
	}
}

// clean empties a directory.
func clean(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	law.Check(t, err)
}

// TestLives: a process comes for one that lives still, without a lock between them: what the first goes on to write, in its last file and new ones, is
// read by nobody, and what it removes is not the second's. A third has all of the second, and all files that are left are its own. Where processes
// die in the middle of that is drawn. When the last removes the journal no file of any process is left.
func TestLives(t *testing.T) {
	law.Slow(t)
	for seed := range uint64(law.Tries(60)) {
		r := rand.New(rand.NewPCG(seed, 2))
		dir, durable := t.TempDir(), seed%6 == 0
		var want []string
		var before []*Journal // that run still
		for life := range 4 {
			if err := os.Remove(filepath.Join(dir, "j.lock")); err != nil && life > 0 {
				t.Fatal(err)
			}
			j := open(t, dir, durable)
			if got, err := played(j); err != nil || !slices.Equal(got, want) || int(j.Life()) != life {
				t.Fatalf("seed %d, life %d says it is %d: %v, %d records, want %d", seed, life, j.Life(), err, len(got), len(want))
			}
			for i := range 1 + r.IntN(10) {
				if life == 0 && i == 0 || r.IntN(5) == 0 {
					law.Check(t, j.Next([]byte("head")))
				}
				for _, late := range before {
					switch r.IntN(12) {
					case 0:
						_ = late.Next([]byte("late"))
					case 1:
						_ = late.Void()
					case 2:
						_ = late.Forget(1 + r.IntN(9))
					default:
						_ = errors.Join(late.Append(9, []byte("late")), late.Durable())
					}
				}
				body := bytes.Repeat([]byte{byte(i)}, r.IntN(150))
				law.Check(t, errors.Join(j.Append(7, body), j.Durable()))
				want = append(want, fmt.Sprintf("7 %x", body))
			}
			before = append(before, j)
		}
		last := before[len(before)-1]
		law.Check(t, last.Void())
		left, err := filepath.Glob(filepath.Join(dir, "j.0*"))
		if err != nil || len(left) > 0 {
			t.Fatalf("seed %d: %v, %q are left", seed, err, left)
		}
	}
}

// TestACrowdedDisk: a file that can't be renamed as its journal was played is no reason to give the journal up: it is whole, and the next process
// comes back from it.
func TestACrowdedDisk(t *testing.T) {
	dir := t.TempDir()
	want := written(t, dir, false)
	j, inTheWay := open(t, dir, false), filepath.Join(dir, "j.000001.1")
	law.Check(t, os.Mkdir(inTheWay, 0o755))
	if _, err := played(j); !files.Unreadable(err) {
		t.Fatalf("%v, want a file system's error", err)
	}
	j.Close()
	law.Check(t, os.Remove(inTheWay))
	if got, err := played(open(t, dir, false)); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v: %d records, want %d", err, len(got), len(want))
	}
}

// TestChained: files of a life count up to where the next begins, also where a process ended while it renamed them.
func TestChained(t *testing.T) {
	for all, want := range map[string]string{
		"":                             "",
		"j.000001 j.000002":            "j.000001 j.000002",
		"j.000001 j.000002.1":          "j.000001 j.000002.1",
		"j.000001 j.000002.1 j.000003": "j.000001 j.000002.1",
		"j.000001.2 j.000002.2 j.000003.2 j.000003 j.000003.1 j.000004.1":          "j.000001.2 j.000002.2 j.000003.2",
		"j.000001 j.000002.1 j.000003.2":                                           "j.000001 j.000002.1 j.000003.2",
		"j.lock j.1 j.000001. j.000001.01 j.000001.0 j.000001.x k.000001 j.000007": "j.000007",
	} {
		var files []named
		for _, name := range strings.Fields(all) {
			if f, is := parseName("j", name); is {
				files = append(files, f)
			}
		}
		if got := strings.Trim(fmt.Sprint(chained(files)), "[]"); got != want {
			t.Errorf("%s: %s, want %s", all, got, want)
		}
	}
}

// TestPowerFails leaves of what a durable journal has not synced any pages in any order, zeros and garbage: all that was synced comes back, of
// the rest a beginning, and more can be appended.
func TestPowerFails(t *testing.T) {
	law.Slow(t)
	const page = 48
	for seed := range uint64(law.Tries(300)) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		j := open(t, dir, true)
		var want []string
		synced, records := 0, 0
		for i := range 1 + r.IntN(12) {
			if i == 0 || r.IntN(8) == 0 {
				law.Check(t, j.Next([]byte("head")))
				synced, records = 0, len(want) // what lies before the last segment has reached the disk
			}
			body := bytes.Repeat([]byte{byte(i)}, r.IntN(150))
			law.Check(t, j.Append(7, body))
			if want = append(want, fmt.Sprintf("7 %x", body)); r.IntN(3) == 0 {
				synced, records = int(j.Size()), len(want)
				law.Check(t, j.Durable())
			}
		}
		all := j.Segments()
		path := all[len(all)-1].path
		j.Close()
		b, err := os.ReadFile(path)
		law.Check(t, err)
		for at := synced; at < len(b); at += page {
			switch lost := b[at:min(at+page, len(b))]; r.IntN(4) {
			case 0:
				clear(lost)
			case 1:
				for k := range lost {
					lost[k] = byte(r.Uint32())
				}
			}
		}
		law.Check(t, os.WriteFile(path, b[:synced+r.IntN(len(b)-synced+1)], 0o644))
		j = open(t, dir, true)
		got, err := played(j)
		if err != nil || len(got) < records || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("seed %d: %v, %d records of %d, of which %d were synced", seed, err, len(got), len(want), records)
		}
		if len(j.Segments()) == 0 { // not even its beginning has reached the disk
			continue
		}
		law.Check(t, errors.Join(j.Append(8), j.Durable()))
		j.Close()
		j = open(t, dir, true)
		if again, err := played(j); err != nil || !slices.Equal(again, append(slices.Clip(got), "8 ")) {
			t.Fatalf("seed %d: %v, %d records where %d had come back and one was appended", seed, err, len(again), len(got))
		}
		j.Close()
	}
}

// TestReboot: a journal that is not durable is not played when its machine was started again, and a durable one is.
func TestReboot(t *testing.T) {
	if now, err := boot(); now == "" || err != nil {
		t.Skip("this system does not say when it was started")
	}
	for _, durable := range []bool{false, true} {
		dir := t.TempDir()
		written(t, dir, durable)
		j := open(t, dir, durable)
		j.segments[1].Boot = "another"
		if _, err := played(j); errors.Is(err, ErrReboot) == durable {
			t.Errorf("durable %t: %v", durable, err)
		}
	}
}

func TestOneProcess(t *testing.T) {
	if lockless() {
		t.Skip("this system has no such locks")
	}
	dir := t.TempDir()
	j := open(t, dir, false)
	_, err := Open(Options{Dir: dir, Name: "j"})
	who := fmt.Sprintf("another process has it: process %d on host ", os.Getpid())
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), who) || !strings.Contains(err.Error(), "give this job a journal directory of its own") {
		t.Errorf("%v, want ErrLocked that says %q", err, who)
	}
	if other, err := Open(Options{Dir: dir, Name: "k"}); err != nil {
		t.Error(err)
	} else {
		other.Close()
	}
	j.Close()
	open(t, dir, false)
}

// lockless says whether files have no locks here.
func lockless() bool {
	f, err := os.CreateTemp("", "")
	if err != nil {
		return true
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = files.TryLock(f)
	return err != nil
}

// TestAFullDisk: what a full disk does not take is told with the directory, and with what to do.
//
// Promise: [G6] a journal that can't be written ends its server with an error that names the directory
func TestAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no disk that is always full: ", err)
	}
	defer full.Close()
	dir := t.TempDir()
	j := open(t, dir, false)
	law.Check(t, j.Next(nil))
	j.file.Close()
	j.use(full)
	if err := j.Append(1); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fmt.Sprint(err), "make room in "+dir) {
		t.Errorf("error %v", err)
	}
}

// TestAfterAnError appends nothing behind a record that was not written.
func TestAfterAnError(t *testing.T) {
	j := open(t, t.TempDir(), false)
	law.Check(t, j.Next(nil))
	j.file.Close() // as a disk that fails
	if err := j.Append(1); err == nil {
		t.Error("a record was written to a closed file")
	}
	if err := errors.Join(j.Append(1)); err == nil {
		t.Error("another followed it")
	}
	if err := j.Durable(); err == nil {
		t.Error("what was not written is said to be durable")
	}
}
