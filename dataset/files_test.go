package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/law"
)

// xFormat reads x from a line of one integer; pair is made of it, for xs.
type xFormat struct{}

func (xFormat) Columns() ([]Column, error)   { return numbers(0).Columns(), nil }
func (f xFormat) NewParser() (Parser, error) { return f, nil }
func (xFormat) ParseLine(line []byte, row Row) error {
	x, ok := parseInt(line)
	if !ok {
		return badField("x", "an integer", line)
	}
	row.Ints(0)[0] = x
	row.Floats(1)[0], row.Floats(1)[1] = float32(2*x), float32(3*x)
	return nil
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	law.Check(t, z.Close())
	return b.String()
}

func files(t testing.TB, texts ...string) (fs.FS, []string) {
	t.Helper()
	fsys, paths := fstest.MapFS{}, []string{}
	for i, text := range texts {
		path := fmt.Sprintf("part-%d", i)
		fsys[path] = &fstest.MapFile{Data: []byte(text)}
		paths = append(paths, path)
	}
	return fsys, paths
}

func TestFiles(t *testing.T) {
	fsys, paths := files(t, "0\n1\n\n2\n", "", zipped(t, "3\n4"), "\r\n", zipped(t, "5\r\n")+"\x00\x00"+zipped(t, "6\n")+strings.Repeat("\x00", 100_000))
	d := New(&Files{Paths: paths, FS: fsys, Format: xFormat{}})
	want := []int64{0, 1, 2, 3, 4, 5, 6}
	for _, size := range []int{1, 2, 3, 100} {
		for pass := range 2 {
			if got := xs(t, d, size); !slices.Equal(got, want) {
				t.Errorf("by %d, pass %d: %v", size, pass, got)
			}
		}
	}
	if _, known := d.Len(); known {
		t.Error("the length of files can't be known")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "7\n", "b.gz": zipped(t, "8\n")} {
		law.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	onDisk := FromFiles(xFormat{}, filepath.Join(dir, "b.gz"), filepath.Join(dir, "a.txt"))
	if got := xs(t, onDisk, 2); !slices.Equal(got, []int64{8, 7}) {
		t.Errorf("on disk: %v", got)
	}
}

// TestURLsAreNoFiles: a URL is refused where a file of this machine is read, and is the file system's business where the dataset has one.
func TestURLsAreNoFiles(t *testing.T) {
	const url = "s3://bucket/part-0"
	for _, err := range FromFiles(xFormat{}, url).Batches(1) {
		if err == nil || !strings.Contains(err.Error(), "give the dataset an FS that opens it") {
			t.Errorf("got %v", err)
		}
	}
	own := New(&Files{Paths: []string{url}, FS: buckets{fstest.MapFS{"part-0": {Data: []byte("7\n")}}}, Format: xFormat{}})
	if got := xs(t, own, 1); !slices.Equal(got, []int64{7}) {
		t.Errorf("through a file system of its own: %v", got)
	}
}

// buckets is a file system whose names are URLs.
type buckets struct{ fs.FS }

func (b buckets) Open(name string) (fs.File, error) { return b.FS.Open(name[len("s3://bucket/"):]) }

// A worker's lines are those whose number over all files leaves its index, bad ones counted, empty ones not.
func TestShardOfLines(t *testing.T) {
	fsys, paths := files(t, "0\n1\n\n2\n3\n", "4\nbad\n6\n7\n")
	for name, c := range map[string]struct {
		index, workers int
		want           []int64
	}{
		"first":  {0, 3, []int64{0, 3, 6}},
		"second": {1, 3, []int64{1, 4, 7}},
		"third":  {2, 3, []int64{2}},
		"all":    {0, 1, []int64{0, 1, 2, 3, 4, 6, 7}},
	} {
		d := New(&Files{Paths: paths, FS: fsys, Format: xFormat{}, SkipBad: 1}).Shard(c.index, c.workers)
		if got := xs(t, d, 2); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	twice := New(&Files{Paths: paths[:1], FS: fsys, Format: xFormat{}}).Shard(0, 2).Shard(1, 2)
	if got := xs(t, twice, 2); !slices.Equal(got, []int64{2}) {
		t.Errorf("a shard of a shard: %v", got)
	}
}

func TestShardLeavesHeadersAlone(t *testing.T) {
	fsys, paths := files(t, "y\n1\n2\n3\n", "z,y\n0,4\n0,5\n")
	format := CSV{Schema: []CSVColumn{{Column: Ints("y")}}}
	for index, want := range [][]int64{{1, 3, 5}, {2, 4}} {
		var got []int64
		for batch, err := range New(&Files{Paths: paths, FS: fsys, Format: format}).Shard(index, 2).Batches(9) {
			law.Check(t, err)
			got = append(got, batch["y"].Data().([]int64)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("worker %d: %v, want %v", index, got, want)
		}
	}
}

func TestSkipBad(t *testing.T) {
	fsys, paths := files(t, "0\nx\n1\n", "y\n2\nz\n3\n")
	for _, c := range []struct {
		allowed int
		rows    []int64
		skipped []string
		want    string
	}{
		{0, nil, nil, `dataset: bad line: part-0:2: field x: want an integer, got "x"`},
		{2, []int64{0, 1, 2}, []string{"part-0:2", "part-1:1"},
			`dataset: too many bad lines: 3, and SkipBad allows 2; the last is part-1:3: field x: want an integer, got "z"`},
		{3, []int64{0, 1, 2, 3}, []string{"part-0:2", "part-1:1", "part-1:3"}, ""},
	} {
		var rows []int64
		var skipped []string
		message := ""
		source := &Files{Paths: paths, FS: fsys, Format: xFormat{}, SkipBad: c.allowed, OnBad: func(e *LineError) {
			skipped = append(skipped, fmt.Sprintf("%s:%d", e.File, e.Line))
		}}
		for batch, err := range New(source).Batches(3) {
			if err != nil {
				message = err.Error()
				if !errors.Is(err, ErrBadLine) || strings.Contains(err.Error(), "too many bad lines") != (c.allowed > 0) {
					t.Errorf("error %v is of the wrong kind", err)
				}
				continue
			}
			rows = append(rows, batch["x"].Data().([]int64)...)
		}
		if diff := cmp.Diff([]any{c.rows, c.skipped, c.want}, []any{rows, skipped, message}); diff != "" {
			t.Errorf("%d allowed: %s", c.allowed, diff)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	broken := []byte(zipped(t, strings.Repeat("1\n", 1000)))
	broken[len(broken)-6] ^= 1 // the checksum
	fsys, _ := files(t, "1\n2\n", string(broken), "\x1f\x8bno gzip", "3\n"+strings.Repeat("9", maxLine+1))
	for path, want := range map[string]string{
		"part-1": "dataset: part-1:", "part-2": "dataset: part-2: ", "part-3": "dataset: part-3:2: the line is longer than 16777216 bytes",
		"part-9": "dataset: open part-9: file does not exist",
	} {
		var last error
		for _, err := range New(&Files{Paths: []string{"part-0", path}, FS: fsys, Format: xFormat{}}).Batches(1) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), want) {
			t.Errorf("%s: %v, want %s", path, last, want)
		}
	}
	failed := errors.New("disk on fire")
	for _, err := range FromReader(io.MultiReader(strings.NewReader("1"), iotest.ErrReader(failed)), "stdin", xFormat{}).Batches(1) {
		if !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "dataset: stdin:1: ") {
			t.Errorf("a reader that fails: %v", err)
		}
	}
}

// TestLongLines: lines of megabytes are rows as others are, whoever reads them.
func TestLongLines(t *testing.T) {
	ids := strings.Repeat(",12345678901234567890", 100_000)
	text := "{\"x\":[1]}\n" + strings.Repeat("{\"x\":[2"+ids+"]}\r\n{\"x\":[]}\n", 2) + "{\"x\":[3" + ids + "]}"
	format := JSONLines{Schema: []CSVColumn{{Column: Varying(IDs("x"))}}}
	decoder, err := NewDecoder(format)
	law.Check(t, err)
	for name, read := range map[string]func() (Batch, error){
		"streaming": func() (Batch, error) { return FromReader(strings.NewReader(text), "long", format).Batch(t.Context()) },
		"loaded": func() (Batch, error) {
			d, err := FromReader(strings.NewReader(text), "long", format).Load(t.Context())
			if err != nil {
				return nil, err
			}
			return d.Batch(t.Context())
		},
		"decoded": func() (Batch, error) { return decoder.Decode([]byte(text)) },
	} {
		batch, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := fmt.Sprint(batch["x.offsets"].Data()); got != "[0 1 100002 100002 200003 200003 300004]" || batch["x"].Uint64s()[200003] != 3 {
			t.Errorf("%s: rows end at %s", name, got)
		}
	}
}

// Text arrives in whatever pieces a reader likes.
func TestReadersOfOneByte(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"plain": strings.NewReader("1\n2\n3"), "gzip": strings.NewReader(zipped(t, "1\n2\n3")), "byte order mark": strings.NewReader("\xef\xbb\xbf1\n2\n3\n"),
	} {
		if got := xs(t, FromReader(iotest.OneByteReader(r), name, xFormat{}), 2); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestReaderIsReadOnce(t *testing.T) {
	d := FromReader(strings.NewReader("1\n2\n"), "stdin", xFormat{})
	if got := xs(t, d.Shard(0, 2), 2); !slices.Equal(got, []int64{1}) {
		t.Errorf("first pass: %v", got)
	}
	for _, err := range d.Batches(2) {
		if !errors.Is(err, ErrOnePass) || !strings.Contains(err.Error(), "stdin") {
			t.Errorf("second pass: %v", err)
		}
	}
}

// countingFS counts files that are open.
type countingFS struct {
	fs.FS
	open int
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.open++
	return &countingFile{f, c}, nil
}

type countingFile struct {
	fs.File
	c *countingFS
}

func (f *countingFile) Close() error {
	f.c.open--
	return f.File.Close()
}

func TestFilesAreClosed(t *testing.T) {
	fsys, paths := files(t, "1\n2\n", zipped(t, "3\n4\n"), "\x1f\x8bno gzip")
	for _, n := range []int{1, 2, 3, 4, 99} {
		counting := &countingFS{FS: fsys}
		left := n
		for range New(&Files{Paths: paths, FS: counting, Format: xFormat{}}).Batches(1) {
			if left--; left == 0 {
				break
			}
		}
		if counting.open != 0 {
			t.Errorf("%d files open after %d rows", counting.open, n)
		}
	}
}
