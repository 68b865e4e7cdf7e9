package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gofleet/gofleet/internal/law"
)

// manyLines is CSV of more than a chunk, of which some lines are empty, comments, of two lines, or bad.
func manyLines(first, lines int, bad map[int]bool) []byte {
	var b bytes.Buffer
	b.WriteString("n,word\n")
	for i := first; i < first+lines; i++ {
		switch {
		case bad[i]:
			fmt.Fprintf(&b, "none,%d\n", i)
		case i%1000 == 7:
			fmt.Fprintf(&b, "\n# %d\n%d,\"a\nb\"\n", i, i)
		default:
			fmt.Fprintf(&b, "%d,word %d and some text\n", i, i)
		}
	}
	return b.Bytes()
}

func packed(t *testing.T, text []byte, with func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := with(&b)
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var wordsCSV = CSV{Comment: '#', Multiline: true, Schema: []CSVColumn{{Column: Ints("n")}, {Column: Ints("word"), Hash: 1 << 30}}}

// TestParsingByMany: rows, their places, errors and what is passed over are the same, however many goroutines parse, of plain and packed files.
//
// Promise: [G9] rows, their places and errors are the same, however many goroutines parse
// Also: TestRowsByMany (dataset/parquet)
func TestParsingByMany(t *testing.T) {
	law.Slow(t)
	bad := map[int]bool{3: true, 3_999: true, 4_000: true, 8_500: true}
	text := manyLines(3_000, 4_000, bad)
	z := func(w io.Writer) io.WriteCloser { e, _ := zstd.NewWriter(w); return e }
	files := fstest.MapFS{
		"a.csv": {Data: manyLines(0, 3_000, bad)}, "empty": {}, "header": {Data: []byte("n,word\n")},
		"b.csv.zst": {Data: slices.Concat([]byte("\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"), packed(t, text[:5000], z), packed(t, text[5000:], z))},
		"c.csv.gz":  {Data: packed(t, manyLines(7_000, 3_000, bad), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })},
	}
	for _, allowed := range []int{0, 2, 3, 10} {
		var want string
		for _, threads := range []int{1, 2, 5} {
			var passed []string
			f := &Files{FS: files, Paths: []string{"a.csv", "empty", "b.csv.zst", "header", "c.csv.gz"}, Format: wordsCSV, SkipBad: allowed, Threads: threads,
				OnBad: func(e *LineError) { passed = append(passed, e.Error()) }}
			var out strings.Builder
			for name, d := range map[string]*Dataset{"all": New(f), "shard": New(f).Shard(2, 3)} {
				if name == "shard" && allowed < 10 {
					continue
				}
				table, err := d.Table(t.Context())
				fmt.Fprintln(&out, err)
				for r := 0; err == nil && r < table.Len(); r++ {
					fmt.Fprintln(&out, table.Ints(0)[r], table.Ints(1)[r], table.Place(r))
				}
			}
			slices.Sort(passed)
			got := fmt.Sprint(len(out.String()), passed) + sorted(out.String())
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%d goroutines with %d bad lines allowed: %.300s, one alone: %.300s", threads, allowed, got, want)
			}
			if ok := allowed > 0; ok != strings.Contains(got, "b.csv.zst:") {
				t.Errorf("%d goroutines with %d bad lines allowed: %.200s", threads, allowed, got)
			}
		}
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestManyEndEarly: a loop that breaks and a context that ends leave no goroutine behind, and errors of files come after the rows before them.
func TestManyEndEarly(t *testing.T) {
	files := fstest.MapFS{"a": {Data: manyLines(0, 20_000, nil)}, "cut": {Data: packed(t, manyLines(0, 20_000, nil), func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })[:20_000]}}
	f := &Files{FS: files, Paths: []string{"a", "gone"}, Format: wordsCSV, Threads: 3}
	for range New(f).Batches(10) {
		break
	}
	if _, err := New(f).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a file that is not there: %v", err)
	}
	f.Paths = []string{"cut"}
	if _, err := New(f).Load(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut:") {
		t.Errorf("a file that is cut off: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	rows := 0
	f.Paths = []string{"a"}
	for batch, err := range New(f).BatchesContext(ctx, 100) {
		if err != nil {
			if !errors.Is(err, errEnough) || rows >= 20_000 {
				t.Errorf("after %d rows: %v", rows, err)
			}
			return
		}
		rows += batch["n"].Shape()[0]
		cancel(errEnough)
	}
	t.Error("the pass went on after its context had ended")
}

// TestLoadMakesRoomOnce: the values of a file that is loaded grow by its size, and not again and again; a compressed file, whose
// size says little, is loaded all the same.
func TestLoadMakesRoomOnce(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(criteoText(rows))
	law.Check(t, errors.Join(err, w.Close()))
	files := fstest.MapFS{"plain": {Data: criteoText(rows)}, "packed": {Data: packed.Bytes()}}
	for name, most := range map[string]float64{"plain": 1.1, "packed": 2} {
		loaded, _, err := New(&Files{FS: files, Paths: []string{name}, Format: Criteo{}, Threads: 2}).read(t.Context())
		law.Check(t, err)
		if v := loaded.Ints(1); loaded.Len() != rows || float64(cap(v)) > most*float64(len(v)) {
			t.Errorf("%s: %d rows, with room for %d ids of %d", name, loaded.Len(), cap(v), len(v))
		}
	}
	plain := New(&Files{FS: files, Paths: []string{"plain"}, Format: Criteo{}, Threads: 2})
	r, err := open(t.Context(), plain.source, 0)
	law.Check(t, err)
	defer r.Close()
	some := newTable(plain.Columns())
	_, err = r.Read(some, 4096)
	law.Check(t, err)
	if n := r.(*crewReader).estimate(); n < rows*9/10 || n > rows*11/10 {
		t.Errorf("%d rows are expected of %d", n, rows)
	}
	if n := r.(*crewReader).estimate(); n != 0 {
		t.Errorf("%d rows are expected again", n)
	}
}
