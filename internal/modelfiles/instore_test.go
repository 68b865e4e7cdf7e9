package modelfiles

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/files"
)

// TestEveryCrashOfAModelInAStore stops a process at every operation of three saves: the directory has the old model or the new one, whole,
// from the first that was acknowledged on, and what is copied from there to a disk loads too.
func TestEveryCrashOfAModelInAStore(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	acked, newest := map[int]float32{}, float32(0)
	for n := range 3 {
		numbered(float32(n+1)).save(t, dir)
		acked[len(m.Changes())] = float32(n + 1)
	}
	if left := m.Names(); len(left) != 3 {
		t.Errorf("there are %v", left)
	}
	for n := range len(m.Changes()) + 1 {
		newest = max(newest, acked[n])
		was := m.After(n)
		got, err := readModel(storetest.Mount(t, was) + "/model")
		if newest == 0 && err != nil {
			continue
		}
		if err != nil || !got.equal(numbered(newest)) && !got.equal(numbered(newest+1)) {
			t.Errorf("after %d operations, with %v acknowledged: %v, error %v", n, newest, got, err)
		}
		if acked[n] == 0 {
			continue
		}
		here := t.TempDir()
		for _, name := range was.Names() {
			check(t, os.WriteFile(filepath.Join(here, path.Base(name)), was.Content(name), 0o600))
		}
		if got, err := readModel(here); err != nil || !got.equal(numbered(newest)) {
			t.Errorf("copied to a disk: %v, error %v", got, err)
		}
	}
}

// TestRecordsOfStoresThatFail: a record that can't be read is not taken for none, one whose answer was lost is whole when it is written
// again, and what a copy from a disk has left goes with its record.
func TestRecordsOfStoresThatFail(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	numbered(1).save(t, dir)
	broken := errors.New("503 Slow Down")
	asked := 0
	m.SetFault(func(r storetest.Request) (f storetest.Fault) {
		if r.Op == "stat" && path.Base(r.Name) == Record {
			asked++
			f.Err = broken
		}
		return f
	})
	if err := numbered(2).write(t, dir).Commit(); !errors.Is(err, broken) || asked > 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	lost := false
	m.SetFault(func(r storetest.Request) (f storetest.Fault) {
		if r.Op == "put" && path.Base(r.Name) == Record && !lost {
			lost = true
			f = storetest.Fault{Lost: true, Err: files.ErrChanged} // what a store says that has asked again
		}
		return f
	})
	numbered(3).save(t, dir)
	if got, err := readModel(dir); !lost || err != nil || !got.equal(numbered(3)) {
		t.Errorf("behind an answer that was lost: %v, error %v", got, err)
	}

	here := t.TempDir()
	numbered(4).save(t, here)
	copied := storetest.NewMemory()
	for _, name := range []string{Record, Graph, Weights} {
		text, err := os.ReadFile(filepath.Join(here, name))
		check(t, err)
		copied.Set("test/model/"+name, text, time.Now())
	}
	dir = storetest.Mount(t, copied) + "/model"
	if got, err := readModel(dir); err != nil || !got.equal(numbered(4)) {
		t.Errorf("copied from a disk: %v, error %v", got, err)
	}
	numbered(5).save(t, dir)
	if names := copied.Names(); len(names) != 3 || copied.Content("test/model/"+Weights) != nil {
		t.Errorf("there are %v", names)
	}
}

// TestDamageInAStore changes bytes of every file: it is refused as on a disk.
func TestDamageInAStore(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	numbered(1).save(t, dir)
	for _, file := range m.Names() {
		was := m.Content(file)
		for at := 0; at < len(was); at += 7 {
			bad := append([]byte{}, was...)
			bad[at] ^= 0x20
			m.Set(file, bad, time.Now())
			if got, err := readModel(dir); !errors.Is(err, ErrDamaged) && !(err == nil && got.equal(numbered(1))) {
				t.Errorf("byte %d of %s is another: %v", at, file, err)
			}
		}
		m.Set(file, was, time.Now())
	}
}

// TestAModelIsReplacedWhileItIsRead: a reader who has the record of a model that is replaced then has the new one.
func TestAModelIsReplacedWhileItIsRead(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/model"
	numbered(1).save(t, dir)
	replaced := false
	m.SetFault(func(r storetest.Request) storetest.Fault {
		if !replaced && r.Op == "stat" && path.Ext(r.Name) != ".json" {
			replaced = true
			numbered(2).save(t, dir)
		}
		return storetest.Fault{}
	})
	if got, err := readModel(dir); err != nil || !got.equal(numbered(2)) || !replaced {
		t.Errorf("got %v, error %v, replaced %t", got, err, replaced)
	}
	if len(m.Names()) != 3 {
		t.Errorf("there are %v", m.Names())
	}
}

// TestARecordThatIsAnsweredLate: a store that writes the record of a model which was given up has the files that it names.
func TestARecordThatIsAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		dir := storetest.Mount(t, m) + "/model"
		numbered(1).save(t, dir)
		m.SetFault(func(r storetest.Request) storetest.Fault {
			return storetest.Fault{Late: r.Op == "put" && path.Base(r.Name) == Record}
		})
		late := numbered(2).write(t, dir)
		if err := late.Commit(); err == nil {
			t.Fatal("a record that is not answered is committed")
		}
		late.Abandon()
		m.SetFault(nil)
		m.Arrive()
		if got, err := readModel(dir); err != nil || !got.equal(numbered(2)) {
			t.Errorf("behind the late answer there is %v, error %v", got, err)
		}
		time.Sleep(2 * longAgo)
		numbered(3).save(t, dir)
		if got, err := readModel(dir); err != nil || !got.equal(numbered(3)) || len(m.Names()) != 3 {
			t.Errorf("behind the next save there is %v, error %v: %v", got, err, m.Names())
		}
	})
}
