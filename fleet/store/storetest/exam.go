package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// Run checks a store against the contract. make returns a store and an empty directory in it for each part of the test.
func Run(t *testing.T, make func(t *testing.T) (s store.Store, dir string)) {
	for name, part := range map[string]func(t *testing.T, s store.Store, dir string){
		"what was put is read":       examContent,
		"ranges":                     examRanges,
		"conditions":                 examConditions,
		"one of many on a condition": examRace,
		"versions are read":          examVersions,
		"directories":                examDirectories,
		"what is not there":          examMissing,
		"odd names":                  examNames,
		"a context that has ended":   examContext,
		"many at once":               examConcurrency,
		"put whole or not at all":    examWhole,
		"times":                      examTime,
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := make(t)
			part(t, s, dir)
		})
	}
}

// put writes a text, and fails the test on an error.
func put(t *testing.T, s store.Store, name, text string, c store.Condition) (version string) {
	t.Helper()
	version, err := s.Put(t.Context(), name, section(text), c)
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	return version
}

func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

func read(ctx context.Context, s store.Store, name string, r store.Range) (string, error) {
	f, err := s.Open(ctx, name, r)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func examContent(t *testing.T, s store.Store, dir string) {
	for _, n := range []int{0, 1, 70, 3 << 20} {
		name, text := fmt.Sprintf("%s/of-%d", dir, n), strings.Repeat("0123456789", n/10+1)[:n]
		version := put(t, s, name, text, store.Condition{})
		got, err := read(t.Context(), s, name, store.Range{})
		if err != nil || got != text {
			t.Errorf("%d bytes were put, %d are read, error %v", n, len(got), err)
		}
		i, err := s.Stat(t.Context(), name)
		if err != nil || i.Size != int64(n) || i.Name != fmt.Sprintf("of-%d", n) || i.Version != version || i.Dir {
			t.Errorf("stat says %+v, error %v; version %q of %d bytes was put", i, err, version, n)
		}
	}
}

func examRanges(t *testing.T, s store.Store, dir string) {
	const text = "abcdefghij"
	put(t, s, dir+"/f", text, store.Condition{})
	for _, c := range []struct {
		r    store.Range
		want string
	}{
		{store.Range{}, text}, {store.Range{From: 3}, text[3:]}, {store.Range{Bytes: 2}, text[:2]},
		{store.Range{From: 9, Bytes: 1}, text[9:]},
		{store.Range{From: 8, Bytes: 50}, text[8:]}, {store.Range{From: 2, Bytes: 5}, text[2:7]},
	} {
		if got, err := read(t.Context(), s, dir+"/f", c.r); got != c.want || err != nil {
			t.Errorf("%+v is %q, error %v, want %q", c.r, got, err, c.want)
		}
	}
}

func examConditions(t *testing.T, s store.Store, dir string) {
	name := dir + "/f"
	refused := func(what string, c store.Condition) {
		t.Helper()
		if _, err := s.Put(t.Context(), name, section("other"), c); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s: error %v, want ErrChanged", what, err)
		}
	}
	refused("of a version where none is", store.Condition{Version: "nothing"})
	first := put(t, s, name, "one", store.Condition{Absent: true})
	refused("absent, and it is there", store.Condition{Absent: true})
	second := put(t, s, name, "two", store.Condition{Version: first})
	refused("of a version that was replaced", store.Condition{Version: first})
	third := put(t, s, name, "two", store.Condition{Version: second}) // the same content
	if third == "" || first == second {
		t.Errorf("versions are %q, %q, %q", first, second, third)
	}
	if got, err := read(t.Context(), s, name, store.Range{}); got != "two" || err != nil {
		t.Errorf("the file is %q, error %v", got, err)
	}
	if err := s.Remove(t.Context(), name); err != nil {
		t.Error(err)
	}
	refused("of a version that was removed", store.Condition{Version: third})
	put(t, s, name, "again", store.Condition{Absent: true})
}

// examRace replaces one version from several goroutines at once: one succeeds.
func examRace(t *testing.T, s store.Store, dir string) {
	for _, c := range []store.Condition{{Absent: true}, {}} {
		name := dir + "/f"
		if !c.Absent {
			i, err := s.Stat(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			c.Version = i.Version
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []string
		for i := range 4 {
			wg.Go(func() {
				text := fmt.Sprint("of ", i, c.Absent)
				_, err := s.Put(t.Context(), name, section(text), c)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, text)
				} else if !errors.Is(err, store.ErrChanged) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := read(t.Context(), s, name, store.Range{})
		if len(won) != 1 || got != won[0] || err != nil {
			t.Errorf("%+v held for %q, the file is %q, error %v", c, won, got, err)
		}
	}
}

func examVersions(t *testing.T, s store.Store, dir string) {
	first := put(t, s, dir+"/f", "first", store.Condition{})
	put(t, s, dir+"/f", "second", store.Condition{})
	got, err := read(t.Context(), s, dir+"/f", store.Range{Version: first, From: 1})
	if !errors.Is(err, store.ErrChanged) {
		t.Errorf("a version that was replaced reads %q, error %v, want ErrChanged", got, err)
	}
}

func examDirectories(t *testing.T, s store.Store, dir string) {
	for _, name := range []string{"a/1", "a/2", "a/deep/er/3", "ab/4", "b"} {
		put(t, s, dir+"/"+name, name, store.Condition{})
	}
	for _, c := range []struct{ dir, want string }{
		{"", "a/ ab/ b"}, {"/a", "1 2 deep/"}, {"/a/deep", "er/"}, {"/none", ""}, {"/b", ""},
	} {
		all, err := s.List(t.Context(), dir+c.dir)
		var names []string
		for _, i := range all {
			if i.Dir {
				i.Name += "/"
			} else if want := len(strings.TrimPrefix(c.dir+"/"+i.Name, "/")); i.Size != int64(want) ||
				i.Modified.IsZero() {
				t.Errorf("%s in %q: %+v, want %d bytes", i.Name, c.dir, i, want)
			}
			names = append(names, i.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want || err != nil {
			t.Errorf("in %q are %q, error %v, want %q", c.dir, got, err, c.want)
		}
	}
}

func examMissing(t *testing.T, s store.Store, dir string) {
	if _, err := s.Stat(t.Context(), dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if _, err := read(t.Context(), s, dir+"/none", store.Range{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
	put(t, s, dir+"/sub/f", "x", store.Condition{})
	if _, err := s.Stat(t.Context(), dir+"/sub"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of a directory: %v", err)
	}
	if err := s.Remove(t.Context(), dir+"/none"); err != nil {
		t.Errorf("remove: %v", err)
	}
	put(t, s, dir+"/gone", "x", store.Condition{})
	if err := s.Remove(t.Context(), dir+"/gone"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := s.Stat(t.Context(), dir+"/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of what was removed: %v", err)
	}
}

func examNames(t *testing.T, s store.Store, dir string) {
	names := []string{"with space", "plus+", "per%20cent", "ümlaut", ".hidden", "a&b=c", "quote'"}
	for _, name := range names {
		put(t, s, dir+"/"+name, name, store.Condition{})
	}
	for _, name := range []string{"what?", "a:b", "some*", "[one]"} { // a store may refuse them
		switch _, err := s.Put(t.Context(), dir+"/"+name, section(name), store.Condition{}); {
		case err == nil:
			names = append(names, name)
		case !errors.Is(err, fs.ErrInvalid):
			t.Errorf("%q is refused by %v, want fs.ErrInvalid, or no error", name, err)
		}
	}
	all, err := s.List(t.Context(), dir)
	if err != nil || len(all) != len(names) {
		t.Errorf("%d of %d are listed, error %v", len(all), len(names), err)
	}
	for _, i := range all {
		if got, err := read(t.Context(), s, dir+"/"+i.Name, store.Range{}); got != i.Name || err != nil {
			t.Errorf("%q reads %q, error %v", i.Name, got, err)
		}
	}
}

func examContext(t *testing.T, s store.Store, dir string) {
	put(t, s, dir+"/f", "x", store.Condition{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, stat := s.Stat(ctx, dir+"/f")
	_, open := read(ctx, s, dir+"/f", store.Range{})
	_, put := s.Put(ctx, dir+"/f", section("y"), store.Condition{})
	_, list := s.List(ctx, dir)
	remove := s.Remove(ctx, dir+"/f")
	for what, err := range map[string]error{"stat": stat, "open": open, "put": put, "list": list, "remove": remove} {
		if err == nil {
			t.Errorf("%s succeeds with a context that has ended", what)
		}
	}
}

func examConcurrency(t *testing.T, s store.Store, dir string) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name, text := fmt.Sprint(dir, "/", i), strings.Repeat(fmt.Sprint(i), 1000)
			if _, err := s.Put(t.Context(), name, section(text), store.Condition{}); err != nil {
				t.Error(err)
			}
			if got, err := read(t.Context(), s, name, store.Range{}); got != text || err != nil {
				t.Errorf("%s: %d bytes, error %v", name, len(got), err)
			}
		})
	}
	wg.Wait()
	if all, err := s.List(t.Context(), dir); len(all) != 8 || err != nil {
		t.Errorf("%d are listed, error %v", len(all), err)
	}
}

// broken is content whose end can't be read.
type broken struct{ text string }

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > int64(len(b.text)) {
		return 0, errors.New("the disk has failed")
	}
	return copy(p, b.text[at:]), nil
}

// examWhole interrupts a put: the previous file remains.
func examWhole(t *testing.T, s store.Store, dir string) {
	put(t, s, dir+"/f", "before", store.Condition{})
	content := io.NewSectionReader(broken{string(bytes.Repeat([]byte("x"), 1<<20))}, 0, 12<<20)
	if _, err := s.Put(t.Context(), dir+"/f", content, store.Condition{}); err == nil {
		t.Error("content that can't be read was put")
	}
	if got, err := read(t.Context(), s, dir+"/f", store.Range{}); got != "before" || err != nil {
		t.Errorf("a put that broke off has left %d bytes, error %v", len(got), err)
	}
	if all, err := s.List(t.Context(), dir); len(all) != 1 || err != nil {
		t.Errorf("a put that broke off has left %v, error %v", all, err)
	}
}

func examTime(t *testing.T, s store.Store, dir string) {
	put(t, s, dir+"/f", "x", store.Condition{})
	i, err := s.Stat(t.Context(), dir+"/f")
	if age := time.Since(i.Modified); err != nil || age < -time.Hour || age > time.Hour {
		t.Errorf("a file that was put now is said to be of %v, error %v", i.Modified, err)
	}
}
