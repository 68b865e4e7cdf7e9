package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestNamesOfBoth: names of disks go by the system's separators, names in stores by slashes, and neither becomes the other.
func TestNamesOfBoth(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Join("s3://b/x", "ckpt-1", "manifest.json"), "s3://b/x/ckpt-1/manifest.json"}, {Join("s3://b", "x/"), "s3://b/x"},
		{Join("s3://b/x/ckpt-2", "..", "ckpt-1"), "s3://b/x/ckpt-1"}, {Dir("s3://b/x/y"), "s3://b/x"}, {Dir("s3://b"), "s3://"},
		{Base("s3://b/x"), "x"}, {Clean("s3://b//x/"), "s3://b/x"}, {Join("hdfs:///data", "f"), "hdfs:///data/f"},
		{Join("hdfs://nn:9000/data/", "f"), "hdfs://nn:9000/data/f"}, {Clean(`s3://b/a\b`), `s3://b/a\b`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	for _, name := range []string{`C:\x`, "C:/x", "x", "a:b/c", "./s3://x"} {
		if IsURL(name) {
			t.Errorf("%q is taken for a URL", name)
		}
	}
	if abs, err := Abs("s3://b/x"); abs != "s3://b/x" || err != nil {
		t.Errorf("absolute: %q, %v", abs, err)
	}
}

// TestStoresThatAreNotMounted: the error says what to import, and a URL of files is still told to be a path.
func TestStoresThatAreNotMounted(t *testing.T) {
	for name, want := range map[string]string{
		"s3://b/x": `import "github.com/gofleet/gofleet/fleet/store/s3"`, "gs://b/x": "see package fleet/store", "file:///x": "as in /x", "s3:/b": "mount it",
	} {
		if err := Check(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %q", name, err, want)
		}
	}
	if _, err := Open("s3://b/x"); err == nil || !strings.Contains(err.Error(), "no store is mounted") || !Unreadable(err) {
		t.Errorf("a file of a store that is not mounted: %v", err)
	}
}

// numbers is a text of which each part tells its place.
func numbers(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.Bytes()[:n]
}

// TestStreamsGoOn: a stream whose requests break off, fail or hang goes on at the byte where it stood, and asks for no byte twice; one of a
// file that was replaced meanwhile fails.
func TestStreamsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		name := storetest.Mount(t, m) + "/f"
		want := numbers(3*aheadBytes + 123)
		m.Set("test/f", want, time.Now())
		var opened atomic.Int64
		m.SetFault(func(r storetest.Request) storetest.Fault {
			if r.Op != "open" {
				return storetest.Fault{}
			}
			n := opened.Add(1)
			switch n % 3 {
			case 1:
				return storetest.Fault{Cut: 700_001}
			case 2:
				return storetest.Fault{Err: errors.New("503 Slow Down")}
			}
			return storetest.Fault{Hang: n < 5}
		})
		s, err := OpenStream(t.Context(), name)
		law.Check(t, err)
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, want) || opened.Load() < 4 {
			t.Errorf("%d bytes of %d, the same %t, error %v, %d requests", len(got), len(want), bytes.Equal(got, want), err, opened.Load())
		}
		s.Close()

		m.SetFault(func(r storetest.Request) storetest.Fault {
			if r.Op == "open" {
				m.Set("test/f", want, time.Now()) // another version
			}
			return storetest.Fault{}
		})
		if s, err = OpenStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(s); !errors.Is(err, store.ErrChanged) {
			t.Errorf("a file that was replaced while it was read: %v", err)
		}
		s.Close()
	})
}

// TestStoresThatSayNothing: each call on a store that hangs ends, and says which file it waited for, and how long.
func TestStoresThatSayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		name := storetest.Mount(t, m) + "/dir/f"
		m.Set("test/dir/f", []byte("x"), time.Now())
		m.SetFault(func(storetest.Request) storetest.Fault { return storetest.Fault{Hang: true} })
		for what, do := range map[string]func() error{
			"Stat":    func() error { _, err := Stat(name); return err },
			"ReadDir": func() error { _, err := ReadDir(Dir(name)); return err },
			"Open":    func() error { _, err := Open(name); return err },
			"Remove":  func() error { return Remove(name) },
			"Write": func() error {
				return Write(name, func(w io.Writer) error { _, err := w.Write([]byte("y")); return err })
			},
			"Exists": func() error { _, err := Exists(name); return err },
		} {
			began := time.Now()
			err := do()
			if waited := time.Since(began); err == nil || waited != patience ||
				!strings.Contains(err.Error(), patience.String()) || !strings.Contains(err.Error(), Dir(name)) || !Unreadable(err) {
				t.Errorf("%s: error %v after %v", what, err, waited)
			}
		}
	})
}

// TestPatterns: the last part of a URL may be a pattern, as the name of a file may.
func TestPatterns(t *testing.T) {
	m := storetest.NewMemory()
	dir := storetest.Mount(t, m) + "/train"
	for _, name := range []string{"b.csv.gz", "a.csv.gz", "a.json", "deep/c.csv.gz"} {
		m.Set("test/train/"+name, nil, time.Now())
	}
	got, err := Match(dir + "/*.csv.gz")
	if want := dir + "/a.csv.gz " + dir + "/b.csv.gz"; strings.Join(got, " ") != want || err != nil {
		t.Errorf("%q, error %v, want %s", got, err, want)
	}
	if _, err := Match(dir + "/*/c"); err == nil {
		t.Error("a pattern of directories is taken")
	}
	if _, err := ReadDir(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory in which nothing lies: %v", err)
	}
}

// TestSealedInAStore reads a file of a store once, however much of it is read afterwards.
func TestSealedInAStore(t *testing.T) {
	m := storetest.NewMemory()
	name := storetest.Mount(t, m) + "/f"
	want := numbers(5 << 20)
	m.Set("test/f", want, time.Now())
	seal := Sealed{Bytes: int64(len(want)), Sum: SumOf(want), In: "the record"}
	f, err := seal.Open(t.Context(), name)
	law.Check(t, err)
	defer f.Close()
	before := m.Requests()
	for at := 0; at < len(want); at += 100_003 {
		b := make([]byte, min(1000, len(want)-at))
		if _, err := f.ReadAt(b, int64(at)); err != nil || !bytes.Equal(b, want[at:at+len(b)]) {
			t.Fatalf("at %d: error %v", at, err)
		}
	}
	if asked := m.Requests() - before; asked > 0 {
		t.Errorf("the store was asked %d times", asked)
	}
	want[77] ^= 1
	m.Set("test/f", want, time.Now())
	if err := seal.Check(t.Context(), name); !errors.Is(err, ErrUnlike) {
		t.Errorf("a byte is another: %v", err)
	}
}

// fromStart is a store in which every part of a file costs all before it.
type fromStart struct{ *storetest.Memory }

func (fromStart) Costs() store.Costs { return store.Costs{FromStart: true, Answer: time.Hour} }

// TestStoresThatReadFromTheStart are asked for a file's head and for all of it, wherever it is read, and are waited for as long as they say.
func TestStoresThatReadFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fromStart{storetest.NewMemory()}
		name := storetest.Mount(t, m) + "/f"
		want := numbers(5 << 20)
		m.Set("test/f", want, time.Now())
		f, err := Open(name)
		law.Check(t, err)
		defer f.Close()
		before := m.Requests()
		for _, at := range []int64{4 << 20, 0, 100, 1 << 20} {
			b := make([]byte, 1000)
			if _, err := f.ReadAt(b, at); err != nil || !bytes.Equal(b, want[at:at+1000]) {
				t.Errorf("at %d: error %v", at, err)
			}
		}
		if asked := m.Requests() - before; asked != 2 {
			t.Errorf("the store was asked %d times", asked)
		}
		if g, err := Open(name); err == nil { // its first copy fails
			defer g.Close()
			m.SetFault(func(storetest.Request) storetest.Fault { return storetest.Fault{Err: io.ErrUnexpectedEOF} })
			if _, err := g.ReadAt(make([]byte, 1000), 4<<20); err == nil {
				t.Error("what fails is read")
			}
			m.SetFault(nil)
			before = m.Requests()
			for _, at := range []int64{4 << 20, 1 << 20} {
				if _, err := g.ReadAt(make([]byte, 1000), at); err != nil {
					t.Errorf("at %d behind a failure: %v", at, err)
				}
			}
			if asked := m.Requests() - before; asked != 1 {
				t.Errorf("behind a failure the store was asked %d times", asked)
			}
		}
		m.SetFault(func(storetest.Request) storetest.Fault { return storetest.Fault{Hang: true} })
		began := time.Now()
		if _, err := Stat(name); err == nil || time.Since(began) != time.Hour {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
	})
}

// TestBlocks reads a file of a store here and there, by several at once, where requests break off: all is as it was written, no block is asked
// for twice, and who goes on is asked for several together.
func TestBlocks(t *testing.T) {
	law.Slow(t)
	m := storetest.NewMemory()
	name := storetest.Mount(t, m) + "/f"
	want := numbers(9<<20 + 12345)
	m.Set("test/f", want, time.Now())
	f, err := Open(name)
	law.Check(t, err)
	defer f.Close()
	before := m.Requests()
	if n, err := f.ReadAt(nil, 5<<20); n != 0 || err != nil || m.Requests() != before { // as of an *os.File
		t.Errorf("no bytes: %d, error %v", n, err)
	}
	var all sync.WaitGroup
	for reader := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(reader)))
			for range 300 {
				at := r.IntN(len(want))
				b := make([]byte, 1+r.IntN(3000))
				n, err := f.ReadAt(b, int64(at))
				if end := min(at+len(b), len(want)); n != end-at || !bytes.Equal(b[:n], want[at:end]) || (err == io.EOF) != (n < len(b)) {
					t.Errorf("%d bytes at %d: %d, error %v", len(b), at, n, err)
				}
			}
		})
	}
	all.Wait()
	if asked := m.Requests() - before; asked > 11 {
		t.Errorf("the store was asked %d times for 10 blocks", asked)
	}
	if f, err = Open(name); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before = m.Requests()
	got, err := io.ReadAll(f)
	if asked := m.Requests() - before; err != nil || !bytes.Equal(got, want) || asked > 5 {
		t.Errorf("from the beginning to the end: %d bytes, error %v, %d requests", len(got), err, asked)
	}
}

// TestReadersWaitForTheirBlocksAlone: eight that read a file far from each other ask the store at the same time, and four more that want the same
// wait for it and ask for nothing; behind a failure all who waited have it, and the next asks again.
func TestReadersWaitForTheirBlocksAlone(t *testing.T) {
	law.Slow(t)
	const readers = 8
	m := storetest.NewMemory()
	name := storetest.Mount(t, m) + "/f"
	want := numbers(2 * readers * blockBytes)
	m.Set("test/f", want, time.Now())
	f, err := Open(name)
	law.Check(t, err)
	defer f.Close()
	read := func(reader int) error {
		at, b := int64(2*(reader%readers)+1)*blockBytes+7, make([]byte, 1000)
		if n, err := f.ReadAt(b, at); err != nil || !bytes.Equal(b[:n], want[at:at+1000]) {
			return fmt.Errorf("%d bytes at %d: %w", n, at, err)
		}
		return nil
	}
	for _, failed := range []error{fs.ErrNotExist, nil} {
		var asked atomic.Int64
		all := make(chan struct{})
		begin := sync.OnceFunc(func() { close(all) })
		m.SetFault(func(storetest.Request) storetest.Fault {
			if asked.Add(1) == readers {
				begin()
			}
			select {
			case <-all:
			case <-time.After(time.Minute):
				t.Errorf("%d readers have asked, want %d: some wait for others' blocks", asked.Load(), readers)
				begin()
			}
			return storetest.Fault{Err: failed}
		})
		var reading sync.WaitGroup
		for reader := range readers + 4 {
			reading.Go(func() {
				if err := read(reader); !errors.Is(err, failed) {
					t.Error(err)
				}
			})
		}
		reading.Wait()
		if n := asked.Load(); failed == nil && n != readers {
			t.Errorf("%d requests, want %d", n, readers)
		}
	}
}
