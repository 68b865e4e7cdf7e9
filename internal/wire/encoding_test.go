package wire

import (
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var narrowed = []Encoding{Float16, BFloat16, Int8}

// parsed is the frame that build makes.
func parsed(t interface{ Fatal(...any) }, build func(*Builder)) *Frame {
	var b Builder
	b.Reset(Header{Op: OpStep})
	build(&b)
	f := new(Frame)
	if err := f.Parse(join(b.Parts())); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGoldenEncodings pins the bytes of narrowed sections, and what is left of the floats.
func TestGoldenEncodings(t *testing.T) {
	for _, c := range []struct {
		e          Encoding
		dense      string
		rows       string
		left       []float32
		denseFlags string
	}{
		{Float16, "003c" + "0035" + "00c0" + "fffb", "0080" + "003c" + "5535" + "0000", []float32{0, 0, 0, -4496}, "02"},
		{BFloat16, "803f" + "a03e" + "00c0" + "89c7", "0080" + "803f" + "ab3e" + "0000", []float32{0, 0, 0, 144}, "04"},
		{Int8, "97cb0944" + "00" + "00" + "00" + "81", "0402013c" + "007f" + "b002ac3a" + "7f00", []float32{1, 0.3125, -2, 0}, "06"},
	} {
		t.Run(c.e.String(), func(t *testing.T) {
			dense := []float32{1, 0.3125, -2, -70000}
			rows := []float32{float32(math.Copysign(0, -1)), 1, 1. / 3, 0}
			if c.e == Int8 {
				rows = []float32{0, 1, 1. / 6, 0}
			}
			var b Builder
			b.Reset(Header{Op: OpStep})
			b.DenseAs(c.e, dense[:1], dense[1:])
			b.RowsAs(c.e, 7, []uint64{3, 5}, rows)
			frame := hex.EncodeToString(join(b.Parts())[headerSize:])
			size := len(c.dense) / 2
			want := "01" + c.denseFlags + "000000000000" + hex.EncodeToString([]byte{byte(size)}) + "00000000000000" + c.dense + strings.Repeat("00", pad(size)-size)
			size = len(c.rows) / 2
			want += "03" + c.denseFlags + "000007000000" + hex.EncodeToString([]byte{byte(16 + size)}) + "00000000000000" +
				"0200000002000000" + "0301000000000000" + c.rows + strings.Repeat("00", pad(size)-size)
			if frame != want {
				t.Errorf("sections:\n got %s\nwant %s", frame, want)
			}
			if !slices.Equal(dense, c.left) {
				t.Errorf("%v is left of the dense floats, want %v", dense, c.left)
			}
		})
	}
}

// TestNarrowedRoundTrip cuts dense floats into pieces anywhere and rows anyhow: what is read and what is left make what was
// given, up to the rounding of that sum, and where pieces end changes no bit.
func TestNarrowedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(narrowed).Draw(t, "encoding")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		given := make([]float32, rapid.IntRange(0, 1200).Draw(t, "floats"))
		for i := range given {
			given[i] = float32(r.NormFloat64())
		}
		left, leftWhole := slices.Clone(given), slices.Clone(given)
		var pieces [][]float32
		for rest := left; len(rest) > 0; {
			n := rapid.IntRange(0, min(len(rest), 400)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		f := parsed(t, func(b *Builder) { b.DenseAs(e, pieces...); b.DenseAs(e, leftWhole) })
		got, err := f.Sections[0].DenseIn(new([]float32))
		checkParts(t, given, got, left, err)
		whole, err := f.Sections[1].DenseIn(new([]float32))
		equal(t, whole, got, err)
		equal(t, leftWhole, left, nil)
		if len(f.Sections[0].data) != e.DenseSize(len(given)) {
			t.Fatalf("%d floats take %d bytes, DenseSize says %d", len(given), len(f.Sections[0].data), e.DenseSize(len(given)))
		}

		width := rapid.IntRange(1, 20).Draw(t, "width")
		given = given[:len(given)/width*width]
		ids := make([]uint64, len(given)/width)
		for i := range ids {
			ids[i] = uint64(3 * i)
		}
		left = slices.Clone(given)
		f = parsed(t, func(b *Builder) { b.RowsAs(e, 2, ids, left) })
		short := make([]float32, 3)
		got, err = f.Sections[0].RowsIn(&short)
		checkParts(t, given, got, left, err)
		gotIDs, err := f.Sections[0].IDs(nil)
		equal(t, ids, gotIDs, err)
		if _, rest, _ := f.Sections[0].split(); len(rest) != len(ids)*e.RowSize(width) {
			t.Fatalf("%d rows of %d take %d bytes, RowSize says %d each", len(ids), width, len(rest), e.RowSize(width))
		}
	})
}

func checkParts(t *rapid.T, given, got, left []float32, err error) {
	t.Helper()
	if err != nil || len(got) != len(given) {
		t.Fatalf("%d floats became %d, %v", len(given), len(got), err)
	}
	for i, v := range given {
		if sum := got[i] + left[i]; math.Abs(float64(sum-v)) > 1e-7 || math.Abs(float64(left[i])) > 0.03 { // half a step of int8, of numbers up to 7.6
			t.Fatalf("float %d was %v, %v came and %v is left", i, v, got[i], left[i])
		}
	}
}

// TestPlainFloatsFitAnyReader reads Float32 sections by the methods for any encoding, and refuses to read others as plain.
func TestPlainFloatsFitAnyReader(t *testing.T) {
	f := parsed(t, func(b *Builder) { b.Dense([]float32{1, 2}); b.Rows(1, []uint64{4}, []float32{3}) })
	dense, err := f.Sections[0].DenseIn(new([]float32))
	rows, err2 := f.Sections[1].RowsIn(new([]float32))
	if err != nil || err2 != nil || !slices.Equal(dense, []float32{1, 2}) || !slices.Equal(rows, []float32{3}) {
		t.Errorf("dense %v, %v; rows %v, %v", dense, err, rows, err2)
	}
	f = parsed(t, func(b *Builder) {
		b.DenseAs(Int8, []float32{1, 2})
		b.RowsAs(BFloat16, 1, []uint64{4}, []float32{3, 4})
	})
	if _, err := f.Sections[0].Dense(); !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), "int8 where float32 is needed") {
		t.Errorf("Dense of int8: %v", err)
	}
	if _, err := f.Sections[1].Rows(); !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), "bfloat16 where float32") {
		t.Errorf("Rows of bfloat16: %v", err)
	}
}

// TestWrongSizesAreRefused has payloads that no floats of their encoding fill.
func TestWrongSizesAreRefused(t *testing.T) {
	ids := []byte{2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}
	with := func(n int) []byte { return append(slices.Clone(ids), make([]byte, n)...) }
	for _, c := range []struct {
		name string
		s    Section
		says string
	}{
		{"odd float16", Section{Kind: KindDense, coded: Float16, data: make([]byte, 5)}, "5 bytes are not a whole number of float16"},
		{"a scale alone", Section{Kind: KindDense, coded: Int8, data: make([]byte, 4)}, "4 bytes are not whole groups"},
		{"less than a scale", Section{Kind: KindDense, coded: Int8, data: make([]byte, 3)}, "3 bytes are not whole groups"},
		{"a second scale alone", Section{Kind: KindDense, coded: Int8, data: make([]byte, 264)}, "264 bytes are not whole groups"},
		{"odd rows", Section{Kind: KindRows, coded: BFloat16, data: with(7)}, "7 bytes are not a whole number of bfloat16"},
		{"uneven rows", Section{Kind: KindRows, coded: Int8, data: with(11)}, "11 bytes are not 2 rows"},
		{"rows of scales", Section{Kind: KindRows, coded: Int8, data: with(8)}, "8 bytes are not 2 rows"},
		{"rows of nothing", Section{Kind: KindRows, coded: Int8, data: make([]byte, 18)}, "10 bytes are not 0 rows"},
		{"no ids", Section{Kind: KindRows, coded: Int8, data: make([]byte, 3)}, "has no ids"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := c.s.DenseIn
			if c.s.Kind == KindRows {
				read = c.s.RowsIn
			}
			if got, err := read(new([]float32)); !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, %v, want %q", got, err, c.says)
			}
		})
	}
}

func TestDenseFit(t *testing.T) {
	for _, e := range append([]Encoding{Float32}, narrowed...) {
		for _, size := range []int{3584, 10_000, 64 << 20} {
			if n := e.DenseFit(size); e.DenseSize(n) > size || e.DenseSize(n+denseGroup) <= size {
				t.Errorf("%v: %d floats are to fit in %d bytes and take %d", e, n, size, e.DenseSize(n))
			}
		}
	}
}

func TestNarrowingSteadyStateAllocatesNothing(t *testing.T) {
	for _, e := range narrowed {
		var b Builder
		var f Frame
		ids, rows, dense := []uint64{1, 5, 9}, make([]float32, 24), make([]float32, 1000)
		body, room := make([]byte, 0, 8192), []float32(nil)
		step := func() {
			b.Reset(Header{Op: OpStep})
			b.DenseAs(e, dense[:100], dense[100:500], dense[500:])
			b.RowsAs(e, 1, ids, rows)
			body = body[:0]
			for _, p := range b.Parts() {
				body = append(body, p...)
			}
			if err := f.Parse(body); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Sections[0].DenseIn(&room); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Sections[1].RowsIn(&room); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if n := testing.AllocsPerRun(100, step); n > 0 {
			t.Errorf("%v: %v allocations a frame", e, n)
		}
	}
}
