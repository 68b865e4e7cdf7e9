package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/law"
)

// The bytes of a small file, as the format's specification has them.
func TestFormat(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, []Tensor{{"id", U64, []int{1}}, {"w", F32, []int{1, 2}}}, map[string]string{"k": "v"})
	law.Check(t, err)
	put(t, w, "id", []uint64{0x0102030405060708})
	put(t, w, "w", []float32{1, -2})
	law.Check(t, w.Close())
	const header = `{"__metadata__":{"k":"v"},"id":{"dtype":"U64","shape":[1],"data_offsets":[0,8]},` +
		`"w":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}`
	padding := strings.Repeat(" ", (8-len(header)%8)%8)
	want := string([]byte{byte(len(header + padding)), 0, 0, 0, 0, 0, 0, 0}) + header + padding +
		"\x08\x07\x06\x05\x04\x03\x02\x01" + "\x00\x00\x80\x3f" + "\x00\x00\x00\xc0"
	if got := b.String(); got != want {
		t.Errorf("wrote\n%q, want\n%q", got, want)
	}
}

func put[T Element](t testing.TB, w *Writer, name string, v []T) {
	t.Helper()
	law.Check(t, Put(w, name, v))
}

func TestDataBeginAligned(t *testing.T) {
	for n := range 20 {
		var b bytes.Buffer
		if _, err := NewWriter(&b, []Tensor{{strings.Repeat("x", n), U8, nil}}, nil); err != nil {
			t.Fatal(err)
		}
		if b.Len()%8 != 0 {
			t.Errorf("with a name of %d bytes, data begin at %d", n, b.Len())
		}
	}
}

func TestNewWriterRefuses(t *testing.T) {
	tests := []struct {
		name    string
		tensors []Tensor
		want    string
	}{
		{"dtype", []Tensor{{"w", "F128", nil}}, `tensor "w": dtype "F128" is unknown`},
		{"no dtype", []Tensor{{"w", "", nil}}, `dtype "" is unknown`},
		{"negative", []Tensor{{"w", F32, []int{3, -1}}}, "shape [3 -1] has a negative dimension"},
		{"overflow", []Tensor{{"w", F32, []int{math.MaxInt}}}, "is too large"},
		{"large product", []Tensor{{"w", U8, []int{1 << 31, 1 << 31, 4}}}, "is too large"},
		{"large sum", []Tensor{{"a", U8, []int{math.MaxInt}}, {"b", U8, []int{1}}}, `tensor "b": the file would be too large`},
		{"twice", []Tensor{{"w", F32, nil}, {"w", F64, nil}}, `two tensors are called "w"`},
		{"metadata", []Tensor{{"__metadata__", F32, nil}}, "the name __metadata__ is taken"},
		{"not UTF-8", []Tensor{{"\xff", F32, nil}}, "not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			_, err := NewWriter(&b, tt.tensors, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %.200v, want %q", err, tt.want)
			}
			if b.Len() != 0 {
				t.Errorf("a refused header left %d bytes behind", b.Len())
			}
		})
	}
}

func TestHeaderLimit(t *testing.T) {
	tensors := []Tensor{{strings.Repeat("x", 15), F32, nil}}
	const exact = len(`{"xxxxxxxxxxxxxxx":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`) + 5
	if _, err := encodeHeader(tensors, nil, exact); err != nil {
		t.Errorf("a header of the limit's length: %v", err)
	}
	_, err := encodeHeader(tensors, nil, exact-1)
	if err == nil || !strings.Contains(err.Error(), "the header of 1 tensors has 72 bytes, over 71") {
		t.Errorf("a longer one: error %v", err)
	}
}

func TestPutRefuses(t *testing.T) {
	declared := []Tensor{{"a", F32, []int{2}}, {"none", F32, []int{0, 5}}, {"b", U64, []int{1}}}
	tests := []struct {
		name string
		do   func(w *Writer) error
		want string
	}{
		{"unknown", func(w *Writer) error { return Put(w, "c", []float32{1}) }, `tensor "c" was not declared`},
		{"type", func(w *Writer) error { return Put(w, "a", []float64{1}) }, `tensor "a" holds F32, not F64`},
		{"too many", func(w *Writer) error { return Put(w, "a", make([]float32, 3)) }, `12 bytes are too many`},
		{"order", func(w *Writer) error { return Put(w, "b", []uint64{1}) }, `data of tensor "b" came while "a" lacks 8 bytes`},
		{"order, partly", func(w *Writer) error {
			return errors.Join(Put(w, "a", []float32{1}), Put(w, "b", []uint64{1}))
		}, `came while "a" lacks 4 bytes`},
		{"again", func(w *Writer) error {
			return errors.Join(Put(w, "a", []float32{1, 2}), Put(w, "a", []float32{1}))
		}, `tensor "a" is complete`},
		{"of an empty one", func(w *Writer) error {
			return errors.Join(Put(w, "a", []float32{1, 2}), Put(w, "none", []float32{1}))
		}, `tensor "none" is complete`},
		{"after all", func(w *Writer) error {
			return errors.Join(Put(w, "a", []float32{1, 2}), Put(w, "b", []uint64{1}), Put(w, "b", []uint64{1}))
		}, `tensor "b" is complete`},
		{"missing", func(w *Writer) error { return errors.Join(Put(w, "a", []float32{1}), w.Close()) },
			`tensor "a" of F32 [2] lacks 4 bytes, and 2 tensors come after it`},
		{"last missing", func(w *Writer) error { return errors.Join(Put(w, "a", []float32{1, 2}), w.Close()) },
			`tensor "b" of U64 [1] lacks 8 bytes, and 0 tensors`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := NewWriter(&bytes.Buffer{}, declared, nil)
			law.Check(t, err)
			err = tt.do(w)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			if again := Put(w, "a", []float32{}); again == nil || again.Error() != err.Error() {
				t.Errorf("after error %q the next call says %v", err, again)
			}
		})
	}
}

// limited fails after so many bytes.
type limited int

func (l *limited) Write(b []byte) (int, error) {
	if *l -= limited(len(b)); *l < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriterReportsErrors(t *testing.T) {
	tiny, header := limited(10), limited(1000)
	if _, err := NewWriter(&tiny, []Tensor{{"w", F32, nil}}, nil); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("header: error %v", err)
	}
	w, err := NewWriter(&header, []Tensor{{"w", F32, []int{1000}}}, nil)
	law.Check(t, err)
	err = Put(w, "w", make([]float32, 1000))
	if err == nil || !strings.Contains(err.Error(), `writing tensor "w": disk full`) {
		t.Errorf("data: error %v", err)
	}
	if again := w.Close(); again != err {
		t.Errorf("Close returns %v", again)
	}
}

func TestPutDoesNotAllocate(t *testing.T) {
	limit := limited(math.MaxInt)
	w, err := NewWriter(&limit, []Tensor{{"w", F32, []int{1 << 20}}}, nil)
	law.Check(t, err)
	piece := make([]float32, 1000)
	if n := testing.AllocsPerRun(100, func() { put(t, w, "w", piece) }); n != 0 {
		t.Errorf("%v allocations a piece, want none", n)
	}
}

func ExampleWriter() {
	var file bytes.Buffer
	w, err := NewWriter(&file, []Tensor{{"ids", U64, []int{2}}, {"rows", F32, []int{2, 3}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = errors.Join(
		Put(w, "ids", []uint64{7, 9}),
		Put(w, "rows", []float32{1, 2, 3}), // one row
		Put(w, "rows", []float32{4, 5, 6}), // and the next
		w.Close(),
	)
	f, openErr := Parse(file.Bytes())
	if err := errors.Join(err, openErr); err != nil {
		fmt.Println(err)
		return
	}
	rows, err := Read[float32](f, "rows")
	fmt.Println(rows, err)
	// Output: [1 2 3 4 5 6] <nil>
}

// TestLaterIsPut writes columns beside each other: the file is that of one tensor after the other, whether the file takes bytes
// before their turn or not, and the checksum is that of its bytes.
func TestLaterIsPut(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 100_003} {
		rows, steps, seen := make([]float32, n), make([]int64, n), make([]uint32, n)
		for i := range n {
			rows[i], steps[i], seen[i] = float32(i), int64(-i), uint32(3*i)
		}
		tensors := []Tensor{{"rows", F32, []int{n}}, {"step", I64, []int{n}}, {"none", U32, []int{0}}, {"seen", U32, []int{n}}, {"end", U8, []int{2}}}
		var want, plain bytes.Buffer
		w := newWriter(t, &want, tensors)
		put(t, w, "rows", rows)
		put(t, w, "step", steps)
		put(t, w, "seen", seen)
		put(t, w, "end", []uint8{1, 2})
		name := filepath.Join(t.TempDir(), "file")
		f, err := files.Create(name)
		law.Check(t, err)
		for _, to := range []io.Writer{&plain, f} {
			w := newWriter(t, to, tensors)
			for at := 0; at < n; at += 777 {
				end := min(n, at+777)
				if end < n { // the last step is put in its turn
					err = errors.Join(err, Later(w, "step", steps[at:end]))
				}
				err = errors.Join(err, Later(w, "seen", seen[at:end]), Put(w, "rows", rows[at:end]))
			}
			put(t, w, "step", steps[max(0, n-1)/777*777:])
			if err = errors.Join(err, Put(w, "end", []uint8{1, 2}), w.Close()); err != nil {
				t.Fatal(err)
			}
		}
		law.Check(t, f.Commit())
		got, err := os.ReadFile(name)
		law.Check(t, err)
		if !bytes.Equal(plain.Bytes(), want.Bytes()) || !bytes.Equal(got, want.Bytes()) || f.Sum() != files.SumOf(got) {
			t.Errorf("%d rows: the files have %d and %d bytes, want %d; sum %s, want %s", n, plain.Len(), len(got), want.Len(), f.Sum(), files.SumOf(got))
		}
	}
}

func newWriter(t *testing.T, to io.Writer, tensors []Tensor) *Writer {
	t.Helper()
	w, err := NewWriter(to, tensors, nil)
	law.Check(t, err)
	return w
}

// TestLaterRefuses what is of another type, too much, or comes when its turn has come.
func TestLaterRefuses(t *testing.T) {
	for says, bad := range map[string]func(w *Writer) error{
		"yet to come": func(w *Writer) error { return Later(w, "a", []uint8{1}) },
		"of F32":      func(w *Writer) error { return Later(w, "b", []float32{1}) },
		"too many":    func(w *Writer) error { return errors.Join(Later(w, "b", []uint8{1, 2, 3}), Put(w, "a", []uint8{1})) },
		"lacks 1 byte": func(w *Writer) error {
			return errors.Join(Later(w, "b", []uint8{1}), Put(w, "a", []uint8{1}), w.Close())
		},
	} {
		w := newWriter(t, new(bytes.Buffer), []Tensor{{"a", U8, []int{1}}, {"b", U8, []int{2}}})
		if err := bad(w); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
