package hadoop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestMain plays Hadoop where a store has called this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "hadoop" {
		os.Exit(played(os.Args[2:]))
	}
	pause, stands = time.Millisecond, 3*time.Millisecond
	os.Exit(m.Run())
}

// command calls this binary for a shell over a directory.
func command(root string) []string { return []string{os.Args[0], "hadoop", root, "fs"} }

// newStore is a store over a shell of this process.
func newStore(t *testing.T) (*Store, *shell) {
	t.Helper()
	f := &shell{root: t.TempDir()}
	return over(t, f), f
}

func over(t *testing.T, f *shell) *Store {
	t.Helper()
	s, err := New(Options{Command: command(f.root)}, "hdfs")
	law.Check(t, err)
	s.start = f.run
	return s
}

// TestExam examines a store that calls a program for each command: this binary, or where EXAM_HDFS names a directory, such as
// hdfs://localhost:8020/exam, Hadoop's own.
func TestExam(t *testing.T) {
	law.Slow(t)
	var dirs atomic.Int64
	storetest.Run(t, func(t *testing.T) (store.Store, string) {
		t.Parallel()
		o, dir := Options{Command: command(t.TempDir())}, "nn:8020/some/dir"
		if url := os.Getenv("EXAM_HDFS"); url != "" {
			o, dir = Options{}, fmt.Sprintf("%s/%d-%d", strings.TrimPrefix(url, "hdfs://"), os.Getpid(), dirs.Add(1))
		}
		s, err := New(o, "hdfs")
		law.Check(t, err)
		return s, dir
	})
}

func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

func read(ctx context.Context, s *Store, name string, r store.Range) (string, error) {
	f, err := s.Open(ctx, name, r)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func put(t *testing.T, s *Store, name, text string) (version string) {
	t.Helper()
	version, err := s.Put(t.Context(), name, section(text), store.Condition{})
	law.Check(t, err)
	return version
}

// TestEveryCrashOfAPut ends a process before and behind each command of a put, and in the middle of one that writes: from then on the file
// is the one before or the new one, whole, and is listed alone; what is left neither keeps another from replacing it, nor stays.
func TestEveryCrashOfAPut(t *testing.T) {
	law.Slow(t)
	for before, c := range map[string]store.Condition{"": {Absent: true}, "before": {Version: "its own"}, "another": {}} {
		ends := map[string]int{}
		for n, over := 1, false; !over; n++ {
			for _, how := range []trouble{{status: 137}, {status: 137, done: true}, {status: 137, half: true}} {
				over = crashed(t, n, how, before, c, ends)
			}
		}
		if ends[before] == 0 || ends["afterwards"] == 0 {
			t.Errorf("in the place of %q: %v", before, ends)
		}
	}
}

// crashed ends a process at its nth command; true says that it has not so many.
func crashed(t *testing.T, n int, how trouble, before string, c store.Condition, ends map[string]int) bool {
	s, f := newStore(t)
	if before != "" {
		c.Version = put(t, s, "nn/dir/f", before)
	}
	at := 0
	f.befall = func(args []string) trouble {
		at++
		switch {
		case at < n:
			return trouble{}
		case at > n || how.half && args[0] != "-put":
			return trouble{status: 137}
		}
		return how
	}
	_, err := s.Put(t.Context(), "nn/dir/f", section("afterwards"), c)
	ended := at >= n
	f.befall = nil
	where := fmt.Sprintf("ended at command %d %+v, in the place of %q", n, how, before)
	got, lost := read(t.Context(), s, "nn/dir/f", store.Range{})
	if got != before && got != "afterwards" || err == nil && got != "afterwards" || (lost != nil) != (got == "") {
		t.Errorf("%s: error %v; there is %q, error %v", where, err, got, lost)
	}
	ends[got]++
	now, _ := s.Stat(t.Context(), "nn/dir/f")
	all, err := s.List(t.Context(), "nn/dir")
	if err != nil || len(all) > 1 || len(all) == 1 && (all[0].Name != "f" || all[0].Version != now.Version) {
		t.Errorf("%s: there are %+v, error %v, want %+v", where, all, err, now)
	}
	next := store.Condition{Version: now.Version, Absent: now.Version == ""}
	if _, err := s.Put(t.Context(), "nn/dir/f", section("the next"), next); err != nil {
		t.Errorf("%s: the next is refused: %v", where, err)
	}
	for _, name := range f.names() { // drafts stay, until they are old
		if err := os.Chtimes(filepath.Join(f.root, name), time.Time{}, time.Now().Add(-2*old)); err != nil {
			t.Error(err)
		}
	}
	put(t, s, "nn/dir/other", "x")
	if got, err := read(t.Context(), s, "nn/dir/f", store.Range{}); got != "the next" || err != nil {
		t.Errorf("%s: then there is %q, error %v", where, got, err)
	}
	if err := s.Remove(t.Context(), "nn/dir/f"); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if left := f.names(); !slices.Equal(left, []string{"nn/dir/other"}) {
		t.Errorf("%s: at the end there are %v", where, left)
	}
	return !ended
}

// TestStaleWriterIsFenced: a job that stood still is taken back by another, and can't put its file there when it goes on.
func TestStaleWriterIsFenced(t *testing.T) {
	s, f := newStore(t)
	version := put(t, s, "nn/f", "before")
	moved := 0
	f.befall = func(args []string) trouble {
		if moved++; args[0] != "-mv" || !strings.HasSuffix(args[1], newMark) {
			return trouble{}
		}
		f.befall = nil // the file before is away, and the new one is about to come
		if got, err := read(t.Context(), s, "nn/f", store.Range{Version: version}); got != "before" || err != nil {
			t.Errorf("meanwhile it reads %q, error %v", got, err)
		}
		if _, err := s.Put(t.Context(), "nn/f", section("of another"), store.Condition{Version: version}); err != nil {
			t.Errorf("another: %v", err)
		}
		return trouble{}
	}
	if _, err := s.Put(t.Context(), "nn/f", section("late"), store.Condition{Version: version}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("who stood still: %v", err)
	}
	if got, err := read(t.Context(), s, "nn/f", store.Range{}); got != "of another" || err != nil || len(f.names()) != 1 {
		t.Errorf("there is %q, error %v, of %v", got, err, f.names())
	}
}

// TestAReplacementThatEndsMeanwhile: the shell asks for one name after the other; a file that is away when it asks for its name, and is
// there when it asks for what lies beside, is found all the same, and may be replaced.
func TestAReplacementThatEndsMeanwhile(t *testing.T) {
	for what, do := range map[string]func(s *Store, version string) error{
		"stat": func(s *Store, version string) error {
			i, err := s.Stat(t.Context(), "nn/f")
			if err == nil && i.Version != version {
				err = fmt.Errorf("it is %+v", i)
			}
			return err
		},
		"put": func(s *Store, version string) error {
			_, err := s.Put(t.Context(), "nn/f", section("x"), store.Condition{Version: version})
			return err
		},
	} {
		s, f := newStore(t)
		put(t, s, "nn/f", "before")
		id := newID()
		version := put(t, s, hidden("nn/f", id, newMark), "of another")
		rename := func(from, to string) {
			if err := os.Rename(filepath.Join(f.root, from), filepath.Join(f.root, to)); err != nil {
				t.Error(err)
			}
		}
		rename("nn/f", hidden("nn/f", id, wasMark))
		f.meanwhile = func(url string) {
			if strings.HasSuffix(url, wasMark) {
				f.meanwhile = nil
				rename(hidden("nn/f", id, newMark), "nn/f")
				if err := os.Remove(filepath.Join(f.root, hidden("nn/f", id, wasMark))); err != nil {
					t.Error(err)
				}
			}
		}
		if err := do(s, version); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPatience: a request is given as long as the commands that it waits for.
func TestPatience(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 6 * time.Minute, time.Second: 5 * time.Minute, time.Hour: 3 * time.Hour} {
		s, err := New(Options{Command: command("x"), Timeout: timeout}, "hdfs")
		law.Check(t, err)
		if got := s.Costs().Answer; got != want {
			t.Errorf("with a timeout of %v an answer may take %v, want %v", timeout, got, want)
		}
	}
}

// TestWords: what Hadoop says is an error that others know, and what may pass is tried three times.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		words  string
		status int
		is     error
		tries  int
	}{
		{"Permission denied: user=me, access=WRITE, inode=\"/\":hdfs:supergroup:drwxr-xr-x", 1, fs.ErrPermission, 1},
		{"The DiskSpace quota of /user/me is exceeded: quota = 10 B = 10 B but diskspace consumed = 384 MB", 1, nil, 1},
		{"Cannot create file/user/me/f. Name node is in safe mode.", 1, nil, 3},
		{"Operation category WRITE is not supported in state standby. Visit https://s.apache.org/sbnn-error", 1, nil, 3},
		{"Call From vm/127.0.0.1 to nn:8020 failed on connection exception: java.net.ConnectException: Connection refused", 1, nil, 3},
		{"Interrupted", 130, nil, 3},
		{"No FileSystem for scheme \"hdfs\"", 1, nil, 1},
		{"", 127, nil, 1},
	} {
		s, f := newStore(t)
		f.befall = func(args []string) trouble {
			if args[0] == "-put" {
				return trouble{status: c.status, words: c.words}
			}
			return trouble{}
		}
		_, err := s.Put(t.Context(), "nn/f", section("x"), store.Condition{})
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) || f.count("-put") != c.tries {
			t.Errorf("%q: error %v after %d tries, want %d", c.words, err, f.count("-put"), c.tries)
		}
	}
}

// TestTransientFaultsAreRetried: each command fails once, before it is done and behind it, and what a store was asked for is done.
func TestTransientFaultsAreRetried(t *testing.T) {
	for _, done := range []bool{false, true} {
		s, f := newStore(t)
		failed := map[string]bool{}
		f.befall = func(args []string) trouble {
			if key := fmt.Sprint(args); !failed[key] && args[0] != "-cat" {
				failed[key] = true
				return trouble{status: 1, words: "Connection reset by peer", done: done}
			}
			return trouble{}
		}
		first, err := s.Put(t.Context(), "nn/f", section("first"), store.Condition{Absent: true})
		law.Check(t, err)
		second, err := s.Put(t.Context(), "nn/f", section("second"), store.Condition{Version: first})
		law.Check(t, err)
		if i, err := s.Stat(t.Context(), "nn/f"); err != nil || i.Version != second || len(f.names()) != 1 {
			t.Errorf("there is %+v, error %v, of %v", i, err, f.names())
		}
		if err := s.Remove(t.Context(), "nn/f"); err != nil || len(f.names()) > 0 {
			t.Errorf("removed: %v, and there are %v", err, f.names())
		}
	}
}

// TestInterruptedReadGoesOn: reading that breaks off says so, goes on from any byte, and never passes on the end of another version.
func TestInterruptedReadGoesOn(t *testing.T) {
	s, f := newStore(t)
	version := put(t, s, "nn/f", "0123456789")
	f.befall = func(args []string) trouble { return trouble{status: 1, half: args[0] == "-cat", done: true} }
	got, err := read(t.Context(), s, "nn/f", store.Range{})
	if got != "01234" || err == nil || !strings.Contains(err.Error(), "Could not obtain block") {
		t.Errorf("half is %q, error %v", got, err)
	}
	f.befall = nil
	if got, err := read(t.Context(), s, "nn/f", store.Range{Version: version, From: 5}); got != "56789" || err != nil {
		t.Errorf("the rest is %q, error %v", got, err)
	}
	put(t, s, "nn/f", "abcdefghijk")
	if got, err := read(t.Context(), s, "nn/f", store.Range{Version: version, From: 5}); got != "" || !errors.Is(err, store.ErrChanged) {
		t.Errorf("the rest of another version is %q, error %v", got, err)
	}
}

// TestAReaderThatWaits has all of a file, however long ago its command has ended, and no command for it again.
func TestAReaderThatWaits(t *testing.T) {
	s, err := New(Options{Command: command(t.TempDir())}, "hdfs")
	law.Check(t, err)
	want := strings.Repeat("0123456789abcdef", 60<<10/16) // which lies in a pipe, a part of it where these are small
	put(t, s, "nn/f", want)
	defer func(was time.Duration) { lingers = was }(lingers)
	lingers = 500 * time.Millisecond
	start, ended := s.start, make(chan struct{})
	s.start = func(ctx context.Context, in io.Reader, out, said io.Writer, args ...string) error {
		defer close(ended)
		return start(ctx, in, out, said, args...)
	}
	f, err := s.Open(t.Context(), "nn/f", store.Range{})
	law.Check(t, err)
	defer f.Close()
	select {
	case <-ended:
	case <-time.After(2 * lingers):
	}
	if got, err := io.ReadAll(f); string(got) != want || err != nil {
		t.Errorf("it has %d of %d bytes, error %v", len(got), len(want), err)
	}
}

// TestSecrets: no error has the user's password, whoever says it.
func TestSecrets(t *testing.T) {
	s, err := New(Options{Command: command(t.TempDir()), FSName: "afs://nn:9902", UGI: "me,is-wrong"}, "afs")
	law.Check(t, err)
	_, err = s.Stat(t.Context(), "/f")
	if !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "is-wrong") || !strings.Contains(err.Error(), "ugi=me,…") {
		t.Errorf("got %v", err)
	}
	s, _ = New(Options{Command: command(t.TempDir()), UGI: "me,right"}, "afs")
	if _, err := s.Stat(t.Context(), "/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestACommandThatHangs is ended, and named.
func TestACommandThatHangs(t *testing.T) {
	root := t.TempDir()
	law.Check(t, os.WriteFile(filepath.Join(root, "hangs"), nil, 0o666))
	s, err := New(Options{Command: command(root), Timeout: 50 * time.Millisecond}, "hdfs")
	law.Check(t, err)
	if _, err := s.Stat(t.Context(), "nn/f"); !errors.Is(err, context.DeadlineExceeded) && (err == nil || !strings.Contains(err.Error(), "-stat has not ended for 50ms")) {
		t.Errorf("got %v", err)
	}
}

// TestMount refuses what would fail later.
func TestMount(t *testing.T) {
	for want, o := range map[string]Options{
		"no-such-hadoop": {Command: []string{"no-such-hadoop", "fs"}}, "Timeout": {Command: command("x"), Timeout: -1}, "no scheme": {},
	} {
		schemes := []string{"hdfs"}
		if want == "no scheme" {
			schemes = nil
		}
		if err := Mount(o, schemes...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v does not say %q", o, err, want)
		}
	}
	if _, _, err := store.Of("afs://nn/x"); err == nil || !strings.Contains(err.Error(), "fleet/store/hadoop") {
		t.Errorf("a scheme that is not mounted: %v", err)
	}
}

// TestLongListings: a file of a directory of several answers is in each listing, also where it is moved aside between two answers, to a
// name that was passed. A directory of one answer takes one command, and one that does not change two.
func TestLongListings(t *testing.T) {
	law.Slow(t)
	s, f := newStore(t)
	dir := f.local("hdfs://host/dir")
	law.Check(t, os.MkdirAll(dir, 0o777))
	write := func(name string) {
		law.Check(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o666))
	}
	listed := func(want, commands int) {
		t.Helper()
		before := len(f.commands)
		all, err := s.List(t.Context(), "host/dir")
		if n := len(f.commands) - before; err != nil || len(all) != want || n != commands {
			t.Errorf("%d files of %d commands, error %v; want %d of %d", len(all), n, err, want, commands)
		}
	}
	for i := range 10 {
		write(fmt.Sprintf("part-%04d", i))
	}
	listed(10, 1)
	const many = pageful + 100
	for i := range many {
		write(fmt.Sprintf("part-%04d", i))
	}
	aside := func(name string) {
		if err := os.Rename(filepath.Join(dir, name), hidden(filepath.Join(dir, name), newID(), wasMark)); err != nil {
			t.Error(err)
		}
	}
	nth := 0
	f.between = func() {}
	listed(many, 2)
	f.between = func() {
		if nth++; nth == 1 {
			aside("part-1050")
		}
	}
	listed(many, 2)
	nth = 0
	f.between = func() {
		if nth++; nth == 2 {
			aside("part-1060")
		}
	}
	listed(many, 3)
}
