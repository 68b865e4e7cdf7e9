package weights_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// rowsOf are rows in hand.
func rowsOf(rows ...weights.Row) iter.Seq2[weights.Row, error] {
	return func(yield func(weights.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// all reads rows to their end.
func all(rows iter.Seq2[weights.Row, error]) (list []weights.Row, err error) {
	for r, err := range rows {
		if err != nil {
			return list, err
		}
		list = append(list, weights.Row{ID: r.ID, W: slices.Clone(r.W)})
	}
	return list, nil
}

// write gives the bytes that a writer makes of rows.
func write(t *testing.T, format string, rows iter.Seq2[weights.Row, error]) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writers[format](&b, rows); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

var words = []string{"cat", "dog", "häuser", "…", "x"}

// writers and readers are of all formats, by the names of their files.
var writers = map[string]func(io.Writer, iter.Seq2[weights.Row, error]) error{
	"rows.text": weights.WriteText,
	"rows.bin":  weights.Word2Vec{}.Write,
	"rows.txt":  weights.Word2Vec{Text: true}.Write,
	"words.bin": weights.Word2Vec{Words: words}.Write,
	"words.txt": weights.Word2Vec{Words: words, Text: true}.Write,
	"rows.npy":  weights.WriteNPY,
	"rows.npz":  func(w io.Writer, r iter.Seq2[weights.Row, error]) error { return weights.WriteNPZ(w, "rows", r) },
	"rows.safetensors": func(w io.Writer, r iter.Seq2[weights.Row, error]) error {
		return weights.WriteSafetensors(w, "rows", r)
	},
}

// read reads what a writer made.
func read(t testing.TB, format string, data []byte) ([]weights.Row, error) {
	switch r := bytes.NewReader(data); format {
	case "rows.text":
		return all(weights.ReadText(r))
	case "rows.bin", "rows.txt":
		return all(weights.Word2Vec{Text: format == "rows.txt"}.Read(r))
	case "words.bin", "words.txt":
		return all(weights.Word2Vec{Words: words, Text: format == "words.txt"}.Read(r))
	}
	f, err := openBytes(t, format, data)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return all(f.Rows("rows"))
}

func openBytes(t testing.TB, name string, data []byte) (*weights.File, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	law.Check(t, os.WriteFile(file, data, 0o600))
	return weights.Open(t.Context(), file)
}

// TestRoundTrips: every format gives back the bits that it was given, by ascending id where it is not text.
func TestRoundTrips(t *testing.T) {
	rows := []weights.Row{ // as two servers give them
		{ID: 0, W: []float32{0.1, -0, math.SmallestNonzeroFloat32}},
		{ID: 2, W: []float32{math.MaxFloat32, 1.0 / 3, 16777217}},
		{ID: 4, W: []float32{-1e-20, 7, 8}},
		{ID: 1, W: []float32{1, 2, 3}},
		{ID: 3, W: []float32{4, 5, 6}},
	}
	rows[0].W[1] = float32(math.Copysign(0, -1))
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b weights.Row) int { return int(a.ID) - int(b.ID) })
	far := append(slices.Clone(sorted), weights.Row{ID: math.MaxUint64, W: []float32{9, 9, 9}})
	for format := range writers {
		want := sorted
		if format == "rows.text" {
			want = rows
		}
		compare(t, format, rowsOf(rows...), want)
		if format != "rows.npy" && !strings.HasPrefix(format, "words") { // which have not room for every id
			compare(t, format, rowsOf(far...), far)
		}
		compare(t, format, rowsOf(), nil)
	}
}

func compare(t *testing.T, format string, rows iter.Seq2[weights.Row, error], want []weights.Row) {
	t.Helper()
	got, err := read(t, format, write(t, format, rows))
	bits := cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
	if diff := cmp.Diff(want, got, bits); diff != "" || err != nil {
		t.Errorf("%s: %v, changed:\n%s", format, err, diff)
	}
}

// TestManyRows: rows that fill many pages come back, whatever their order was.
func TestManyRows(t *testing.T) {
	law.Slow(t)
	const n, dim = 20_011, 9
	shuffled := func(yield func(weights.Row, error) bool) {
		w := make([]float32, dim) // one for all, as a Row allows
		for i := range uint64(n) {
			id := i * 7919 % n
			for k := range w {
				w[k] = float32(id) + float32(k)/16
			}
			if !yield(weights.Row{ID: id, W: w}, nil) {
				return
			}
		}
	}
	for _, format := range []string{"rows.bin", "rows.npy", "rows.npz", "rows.safetensors"} {
		got, err := read(t, format, write(t, format, shuffled))
		if err != nil || len(got) != n {
			t.Fatalf("%s: %d rows: %v", format, len(got), err)
		}
		for i, r := range got {
			if r.ID != uint64(i) || r.W[0] != float32(i) || r.W[8] != float32(i)+0.5 {
				t.Fatalf("%s: row %d is %v", format, i, r)
			}
		}
	}
}

// TestOtherWriters reads what numpy and gensim have written, by testdata/make_formats.py, and writes to the byte what numpy writes.
func TestOtherWriters(t *testing.T) {
	dir := "testdata"
	w := [][]float32{{0.1, -2.5, 3e-7}, {4, 5.25, 1e20}}
	plain := []weights.Row{{ID: 0, W: w[0]}, {ID: 1, W: w[1]}}
	named := []weights.Row{{ID: 7, W: w[0]}, {ID: 1<<63 + 5, W: w[1]}}
	for _, c := range []struct {
		file, array string
		want        []weights.Row
	}{
		{"f4.npy", "f4", plain}, {"f8.npy", "f8", plain}, {"v2.npy", "v2", plain}, {"v3.npy", "v3", plain},
		{"stored.npz", "user", named}, {"packed.npz", "user", named},
	} {
		f := open(t, filepath.Join(dir, c.file))
		if got, err := all(f.Rows(c.array)); err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v %v", c.file, got, err)
		}
	}
	f := open(t, filepath.Join(dir, "stored.npz"))
	if got := strings.Join(f.Names(), " "); got != "fc_0.b_0 scalar user user.ids" {
		t.Errorf("its arrays are %s", got)
	}
	for name, want := range map[string]weights.Array{
		"fc_0.b_0": {Shape: []int{3}, Values: w[0]}, "scalar": {Shape: []int{}, Values: []float32{2}},
		"user": {Shape: []int{2, 3}, Values: slices.Concat(w...)},
	} {
		if got, err := f.Array(name); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for file, o := range map[string]weights.Word2Vec{"gensim.bin": {}, "gensim.txt": {Text: true}} {
		data := golden(t, file)
		words, err := o.ReadWords(bytes.NewReader(data))
		if err != nil || !slices.Equal(words, []string{"cat", "häuser"}) {
			t.Fatalf("%s has the words %q: %v", file, words, err)
		}
		o.Words = words
		if got, err := all(o.Read(bytes.NewReader(data))); err != nil || !cmp.Equal(got, plain) {
			t.Errorf("%s: %v %v", file, got, err)
		}
	}
	if got := write(t, "rows.npy", rowsOf(plain...)); !bytes.Equal(got, golden(t, "f4.npy")) {
		t.Errorf("numpy writes otherwise than %q", got)
	}
	ours, numpys := arraysOf(t, writeNamed(t, named)), arraysOf(t, golden(t, "stored.npz"))
	for _, name := range []string{"user.npy", "user.ids.npy"} {
		if !bytes.Equal(ours[name], numpys[name]) || len(ours[name]) == 0 {
			t.Errorf("%s: numpy writes otherwise than %q", name, ours[name])
		}
	}
}

func open(t *testing.T, file string) *weights.File {
	t.Helper()
	f, err := weights.Open(t.Context(), file)
	law.Check(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func golden(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	law.Check(t, err)
	return data
}

func writeNamed(t *testing.T, rows []weights.Row) []byte {
	t.Helper()
	var b bytes.Buffer
	law.Check(t, weights.WriteNPZ(&b, "user", rowsOf(rows...)))
	return b.Bytes()
}

// arraysOf are the files of a zip.
func arraysOf(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	law.Check(t, err)
	files := map[string][]byte{}
	for _, e := range z.File {
		r, err := e.Open()
		law.Check(t, err)
		if files[e.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestWritersRefuse: what a format can't hold is an error that says why, and none takes rows after one.
func TestWritersRefuse(t *testing.T) {
	one := weights.Row{ID: 1, W: []float32{1, 2}}
	broken := func(yield func(weights.Row, error) bool) {
		_ = yield(one, nil) && yield(weights.Row{}, io.ErrNoProgress)
	}
	for format, do := range writers {
		if err := do(io.Discard, broken); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%s of rows that fail: %v", format, err)
		}
		if err := do(full{}, rowsOf(weights.Row{ID: 0, W: one.W})); !errors.Is(err, io.ErrShortBuffer) {
			t.Errorf("%s on a disk that is full: %v", format, err)
		}
	}
	for _, c := range []struct {
		format, want string
		rows         []weights.Row
	}{
		{"rows.npy", "id 1 comes, and 0 does not", []weights.Row{one}},
		{"rows.npz", "the row of id 1 comes twice", []weights.Row{one, one}},
		{"rows.bin", "id 2 has 1 numbers, those before it 2", []weights.Row{one, {ID: 2, W: []float32{1}}}},
		{"rows.bin", "rows of 0 numbers", []weights.Row{{ID: 2}}},
		{"words.bin", "id 5 has no word: Words has 5", []weights.Row{{ID: 5, W: one.W}}},
	} {
		if err := writers[c.format](io.Discard, rowsOf(c.rows...)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.format, err, c.want)
		}
	}
	for twice, want := range map[int]string{1: `Words has "a" for the ids 0 and 1`, 5: "<nil>"} {
		words := []string{"a", "", "", "b"}
		if twice < len(words) {
			words[twice] = "a"
		}
		f, rows := weights.Word2Vec{Words: words, Text: true}, rowsOf(weights.Row{ID: 3, W: one.W})
		_, failed := all(f.Read(strings.NewReader("1 2\nb 1 2\n")))
		if err := f.Write(io.Discard, rows); !strings.Contains(fmt.Sprint(err), want) || !strings.Contains(fmt.Sprint(failed), want) {
			t.Errorf("%q: %v, %v, want %s", words, err, failed, want)
		}
	}
	for _, word := range []string{"", "two words", "a\n", strings.Repeat("x", 1<<17)} {
		err := weights.Word2Vec{Words: []string{"", word}}.Write(io.Discard, rowsOf(one))
		if err == nil || !strings.Contains(err.Error(), "no space and no line end") {
			t.Errorf("the word %.10q: %v", word, err)
		}
	}
}

// drawn is a word of few odd pieces, which is often another's too.
func drawn(r *rand.Rand) string {
	pieces := []string{"a", "b", "A", "1", "2", " ", "\t", "\n", "\r", "\x00", "\xff", "é", "e\u0301", "\u2028", "\ufeff", `"`, `\`, "/", "..", ".ids", ".npy",
		"__metadata__", "'", ",", "×"}
	word := ""
	for range r.IntN(4) {
		word += pieces[r.IntN(len(pieces))]
	}
	return word
}

// TestWordsAndNamesComeBack: what a format writes without an error, its reader gives back, whatever the words of ids and the name of the rows.
func TestWordsAndNamesComeBack(t *testing.T) {
	r, written := rand.New(rand.NewPCG(1, 1)), map[string]int{}
	for range law.Tries(240) {
		name, words, rows := drawn(r), make([]string, 1+r.IntN(5)), []weights.Row{}
		for i := range words {
			if words[i] = drawn(r); r.IntN(4) > 0 {
				rows = append(rows, weights.Row{ID: uint64(i), W: []float32{float32(i), 2}})
			}
		}
		for format, do := range map[string]func(io.Writer, iter.Seq2[weights.Row, error]) error{
			"words.bin": weights.Word2Vec{Words: words}.Write, "words.txt": weights.Word2Vec{Words: words, Text: true}.Write,
			"rows.npz":         func(w io.Writer, r iter.Seq2[weights.Row, error]) error { return weights.WriteNPZ(w, name, r) },
			"rows.safetensors": func(w io.Writer, r iter.Seq2[weights.Row, error]) error { return weights.WriteSafetensors(w, name, r) },
		} {
			var file bytes.Buffer
			if do(&file, rowsOf(rows...)) != nil {
				continue
			}
			written[format]++
			var got []weights.Row
			var err error
			if strings.HasPrefix(format, "words") {
				got, err = all(weights.Word2Vec{Words: words, Text: format == "words.txt"}.Read(&file))
			} else if f, failed := openBytes(t, format, file.Bytes()); failed != nil {
				err = failed
			} else {
				got, err = all(f.Rows(name))
				f.Close()
			}
			if err != nil || len(got) != len(rows) || len(rows) > 0 && !cmp.Equal(got, rows) {
				t.Fatalf("%s, words %q, name %q: %v, %v, want %v", format, words, name, got, err, rows)
			}
		}
	}
	for format, n := range written {
		if n < law.Tries(240)/8 {
			t.Errorf("%s: only %d were written", format, n)
		}
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortBuffer }

// TestCutFiles: a file that is cut anywhere is an error or, of text, whole lines.
func TestCutFiles(t *testing.T) {
	law.Slow(t)
	rows := rowsOf(weights.Row{ID: 0, W: []float32{0.25, -1.5}}, weights.Row{ID: 1, W: []float32{11.5, 3.125}})
	for format := range writers {
		data := write(t, format, rows)
		if strings.HasSuffix(format, "text") || strings.HasSuffix(format, ".txt") {
			continue // ends of numbers are numbers; see TestReadersRefuse
		}
		end := len(data)
		if strings.HasSuffix(format, ".bin") {
			end-- // a line end that other programs leave out
		}
		for n := range end {
			if got, err := read(t, format, data[:n]); err == nil {
				t.Errorf("%s of %d of %d bytes is %v", format, n, len(data), got)
			}
		}
	}
}

// TestReadersRefuse: each kind of damage has its message.
func TestReadersRefuse(t *testing.T) {
	npy := func(header string, data int) []byte {
		return append(fmt.Appendf(nil, "\x93NUMPY\x01\x00%c%c%s", len(header)%256, len(header)/256, header), make([]byte, data)...)
	}
	dict := func(descr, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	}
	for _, c := range []struct {
		format string
		data   []byte
		want   string
	}{
		{"rows.text", []byte("1\t2,3\n4 5\n"), "line 2"},
		{"rows.text", []byte("-1\t2\n"), "invalid syntax"},
		{"rows.text", []byte("7\n"), "no tab follows the id 7"},
		{"rows.text", []byte("7\t\n"), "number 1"},
		{"rows.text", []byte("7\t1,x\n"), "number 2"},
		{"rows.text", []byte("7\t1,2\n8\t1\n"), "line 2: 1 numbers, lines before it have 2"},
		{"rows.text", []byte("7\t1e99\n"), "out of range"},
		{"rows.bin", []byte("cat"), "unexpected EOF"},
		{"rows.bin", []byte("cat 1 2\n"), `first line is "cat 1 2\n"`},
		{"rows.bin", []byte("-1 2\n"), "first line"},
		{"rows.bin", []byte("9999999999999 1000000000\n7 "), "rows of 1000000000 numbers"},
		{"rows.bin", []byte("9999999999999 2\n7 "), "word 1 of 9999999999999"},
		{"rows.bin", []byte("1 1\ncat \x00\x00\x00\x00\n"), `word "cat" is not an id: give Words`},
		{"rows.bin", []byte("1 1\n7 \x00\x00\x00\x00\nmore"), "continues after its 1 words"},
		{"rows.bin", []byte("1 1\n" + strings.Repeat("x", 1<<17)), "a word of more than 65536 bytes"},
		{"rows.txt", []byte("2 2\n7 1 2\n"), "after 1 of 2 words"},
		{"rows.txt", []byte("1 2\n7 1 2\n8 1 2\n"), "line 3"},
		{"rows.txt", []byte("1 2\n7 1\n"), "line 2"},
		{"rows.txt", []byte("7 1 y\n"), "number 2"},
		{"rows.npy", []byte("not an array of numpy at all"), "no array of numpy"},
		{"rows.npy", []byte("\x93NUMPY\x04\x00\x00\x00"), "format 4.0"},
		{"rows.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f"), "claims 2147483647 bytes, more than 65536"},
		{"rows.npy", npy(dict("'<f2'", "(2, 1)"), 4), `type "<f2": save it with numpy as float32`},
		{"rows.npy", npy(dict("'<f4'", "(2, 1)"), 9), "not the 9 bytes that it has"},
		{"rows.npy", npy(dict("'<f4'", "(1000000000000, 1)"), 8), "not the 8 bytes that it has"},
		{"rows.npy", npy(dict("'<f4'", "(4294967296, 4294967296)"), 0), "too large"},
		{"rows.npy", npy(dict("'<f4'", "(99999999999999999999,)"), 0), "shape is not what"},
		{"rows.npy", npy(dict("'<f4'", "(2,)"), 8), "rows of an embedding have [rows dim]"},
		{"rows.npy", npy(dict("'<i8'", "(1, 1)"), 8), "numbers of type I64"},
		{"rows.npy", append(npy(dict("'<f8'", "(1, 1)"), 0), 255, 255, 255, 255, 255, 255, 0xef, 0x7f), "more than a float32"},
		{"rows.npy", npy("{'descr': '<f4', 'shape': (1, 1)}", 4), "want descr, fortran_order and shape"},
		{"rows.npy", npy("{'descr': '<f4', 'descr': '<f4'}", 4), "a key that comes once"},
		{"rows.npy", npy("{'descr': '<f4' 'shape': (1, 1)}", 4), "no comma"},
		{"rows.npy", npy("[]", 4), "no dictionary"},
		{"rows.npy", npy(dict("'<f4'", "(1, 1)")+"x", 4), "nothing after"},
		{"rows.npy", golden(t, "fortran.npy"), "numpy.ascontiguousarray"},
		{"rows.npy", golden(t, "big.npy"), `type ">f4"`},
		{"rows.npy", golden(t, "struct.npy"), "descr is not what arrays of numbers have"},
		{"rows.npz", zipOf(t, "a.txt", nil), `it holds "a.txt"`},
		{"rows.npz", zipOf(t, "a.npy", nil, "a.npy", nil), `the array "a" twice`},
		{"rows.npz", zipOf(t, "a.npy", nil), `unknown array "rows"; want one of ["a"]`},
		{"rows.npz", zipOf(t, "rows.npy", npy(dict("'<f4'", "(1, 1)"), 4), "rows.ids.npy", npy(dict("'<u8'", "(2,)"), 16)), "has 1 rows"},
		{"rows.npz", zipOf(t, "rows.npy", npy(dict("'<f4'", "(1, 1)"), 4), "rows.ids.npy", npy(dict("'<f8'", "(1,)"), 8)), "ids of type F64"},
		{"rows.npz", zipOf(t, "rows.npy", npy(dict("'<f4'", "(1, 1)"), 4), "rows.ids.npy", nil), "no array of numpy"},
		{"rows.safetensors", []byte("12345678"), "safetensors"},
	} {
		if got, err := read(t, c.format, c.data); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 600 {
			t.Errorf("%s %.60q: %v %v, want %q", c.format, c.data, got, err, c.want)
		}
	}
}

// TestNoRowsOfAnyWidth: an array without rows has none, whatever width it claims.
func TestNoRowsOfAnyWidth(t *testing.T) {
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 999999999999), }"
	got, err := read(t, "rows.npy", fmt.Appendf(nil, "\x93NUMPY\x01\x00%c\x00%s", len(header), header))
	if err != nil || len(got) > 0 {
		t.Errorf("%v %v", got, err)
	}
}

func zipOf(t *testing.T, parts ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i].(string))
		if err == nil && parts[i+1] != nil {
			_, err = w.Write(parts[i+1].([]byte))
		}
		law.Check(t, err)
	}
	law.Check(t, z.Close())
	return b.Bytes()
}

// TestAFlippedBit: damage in an array is found by the zip's checksum, by Array and by Rows, in numbers and in ids.
func TestAFlippedBit(t *testing.T) {
	f := flipped(t, []byte{0xcd, 0xcc, 0xcc, 0x3d}) // 0.1
	if _, err := f.Array("user"); !errors.Is(err, zip.ErrChecksum) {
		t.Errorf("Array: %v", err)
	}
	if _, err := all(f.Rows("user")); !errors.Is(err, zip.ErrChecksum) {
		t.Errorf("Rows: %v", err)
	}
	if _, err := all(flipped(t, []byte{7, 0, 0, 0, 0, 0, 0, 0}).Rows("user")); !errors.Is(err, zip.ErrChecksum) {
		t.Errorf("Rows, with an id that is another: %v", err)
	}
}

// flipped is a file of one row with a bit flipped where the bytes are.
func flipped(t *testing.T, where []byte) *weights.File {
	t.Helper()
	data := writeNamed(t, []weights.Row{{ID: 7, W: []float32{0.1, -2.5, 3e-7}}})
	data[bytes.LastIndex(data, where)] ^= 1
	f, err := openBytes(t, "a.npz", data)
	law.Check(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestOddFormsOfWord2Vec: what other programs write beside gensim.
func TestOddFormsOfWord2Vec(t *testing.T) {
	want := []weights.Row{{ID: 1, W: []float32{1, 2}}, {ID: 0, W: []float32{3, 4}}}
	for name, text := range map[string]string{
		"GloVe": "dog 1 2\ncat 3 4\n", "fastText": "3 2\ndog 1 2 \ncat 3 4 \nbird 5 6 \n", "no end of line": "2 2\r\ndog 1 2\r\ncat 3 4",
	} {
		got, err := all(weights.Word2Vec{Words: words, Text: true}.Read(strings.NewReader(text)))
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// TestEndingEarly: who has seen enough ends the walk, and no error comes.
func TestEndingEarly(t *testing.T) {
	rows := rowsOf(weights.Row{ID: 0, W: []float32{1}}, weights.Row{ID: 1, W: []float32{2}})
	for format := range writers {
		data := write(t, format, rows)
		seen := 0
		for r, err := range sequence(t, format, data) {
			if seen++; err != nil || r.W[0] != 1 {
				t.Errorf("%s: %v %v", format, r, err)
			}
			break
		}
		if seen != 1 {
			t.Errorf("%s: %d rows", format, seen)
		}
	}
}

func sequence(t *testing.T, format string, data []byte) iter.Seq2[weights.Row, error] {
	switch r := bytes.NewReader(data); format {
	case "rows.text":
		return weights.ReadText(r)
	case "rows.bin", "rows.txt":
		return weights.Word2Vec{Text: format == "rows.txt"}.Read(r)
	case "words.bin", "words.txt":
		return weights.Word2Vec{Words: words, Text: format == "words.txt"}.Read(r)
	}
	f, err := openBytes(t, format, data)
	law.Check(t, err)
	t.Cleanup(func() { f.Close() })
	return f.Rows("rows")
}

// TestOpenRefuses: what is no file of arrays is said to be none.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	law.Check(t, os.WriteFile(filepath.Join(dir, "a.pdparams"), []byte("x"), 0o600))
	for name, want := range map[string]string{
		filepath.Join(dir, "a.pdparams"): "want a file named *.npz, *.npy, *.safetensors or *.onnx", filepath.Join(dir, "none.npz"): "no such file",
		dir: "no saved model", "hdfs://nn/a.npz": "hdfs",
	} {
		if _, err := weights.Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func FuzzWord2Vec(f *testing.F) {
	f.Add([]byte("2 1\n3 abcd\n4 efgh\n"), false)
	f.Add([]byte("2 2\n3 1 2\n4 3 4\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, text bool) {
		o := weights.Word2Vec{Text: text}
		words, err := o.ReadWords(bytes.NewReader(data))
		rows, again := all(o.Read(bytes.NewReader(data)))
		if again == nil && (err != nil || len(words) != len(rows)) {
			t.Errorf("%q: words %q %v, rows %v", data, words, err, rows)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte("42\t0.25,-1.5e-05,3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := all(weights.ReadText(bytes.NewReader(data)))
		if err != nil {
			return
		}
		var b bytes.Buffer
		law.Check(t, weights.WriteText(&b, rowsOf(rows...)))
		again, err := all(weights.ReadText(&b))
		same := cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b })
		if diff := cmp.Diff(rows, again, same); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", data, err, diff)
		}
	})
}
