package columns

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func pack(t interface{ Fatal(...any) }, write func(w *Writer)) []byte {
	var b bytes.Buffer
	w := NewWriter(&b)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ints := rapid.SliceOf(rapid.Int()).Draw(t, "ints")
		jumps := rapid.SliceOf(rapid.IntRange(0, 0xffff)).Draw(t, "jumps")
		text := rapid.SliceOf(rapid.StringMatching(`[a-zA-Z0-9 -]*`)).Draw(t, "text")
		write := func(w *Writer) {
			w.Ints("ints", ints)
			w.Strings("text", text)
			w.Jumps("jumps", jumps)
		}
		packed := pack(t, write)
		if !bytes.Equal(packed, pack(t, write)) {
			t.Fatal("two packings differ")
		}
		r := NewReader(bytes.NewReader(packed))
		if got := r.Ints("ints"); !slices.Equal(got, ints) {
			t.Fatalf("ints %v", got)
		}
		if got := r.Strings("text"); !slices.Equal(got, text) {
			t.Fatalf("text %q", got)
		}
		if got := r.Jumps("jumps"); !slices.Equal(got, jumps) {
			t.Fatalf("jumps %v", got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWriterRefuses(t *testing.T) {
	for name, write := range map[string]func(w *Writer){
		"negative jump": func(w *Writer) { w.Jumps("a", []int{-1}) },
		"large jump":    func(w *Writer) { w.Jumps("a", []int{1 << 16}) },
		"line end":      func(w *Writer) { w.Strings("a", []string{"x\ny"}); w.Ints("b", nil) },
	} {
		w := NewWriter(&bytes.Buffer{})
		if write(w); w.Close() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	good := pack(t, func(w *Writer) { w.Ints("day", []int{1, 2, 3}) })
	broken := bytes.Clone(good)
	broken[len(broken)-5] ^= 1
	for name, c := range map[string]struct {
		file []byte
		read func(r *Reader)
	}{
		"no gzip":       {[]byte("day,1"), func(r *Reader) { r.Ints("day") }},
		"cut off":       {good[:len(good)-9], func(r *Reader) { r.Ints("day") }},
		"broken":        {broken, func(r *Reader) { r.Ints("day") }},
		"other name":    {good, func(r *Reader) { r.Ints("hour") }},
		"other coding":  {good, func(r *Reader) { r.Jumps("day"); r.Strings("day") }},
		"too few reads": {good, func(*Reader) {}},
		"one too many":  {good, func(r *Reader) { r.Ints("day"); r.Ints("hour") }},
	} {
		r := NewReader(bytes.NewReader(c.file))
		if c.read(r); !errors.Is(r.Close(), ErrFile) {
			t.Errorf("%s: %v", name, r.Close())
		}
	}
}
