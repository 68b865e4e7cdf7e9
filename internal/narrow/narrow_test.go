package narrow

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRows: rows that are appended, joined, cut and set are those of a plain slice, within what their format can hold; what was read is
// stored again as it was.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		as := rapid.SampledFrom([]Format{Float32, Float16, Int8}).Draw(t, "as")
		dim := rapid.IntRange(1, 9).Draw(t, "dim")
		numbers := func(n int) []float32 {
			return rapid.SliceOfN(rapid.Float32Range(-60000, 60000), n*dim, n*dim).Draw(t, "numbers")
		}
		r, want := New(as, dim, rapid.IntRange(0, 3).Draw(t, "room")), []float32{}
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			n := rapid.IntRange(0, 4).Draw(t, "n")
			w := numbers(n)
			kept := slices.Clone(w)
			switch rapid.IntRange(0, 2).Draw(t, "call") {
			case 0:
				r.Append(w)
			case 1:
				o := New(as, dim, 0)
				o.Append(w)
				r.Join(o)
			case 2:
				if n = 0; r.Len() > 1 {
					r.Set(0, r, r.Len()-1)
					copy(want[:dim], want[len(want)-dim:])
				}
			}
			if want = append(want, kept[:n*dim]...); !slices.Equal(w, kept) {
				t.Fatal("what was given has changed")
			}
		}
		if r.Len() != len(want)/dim {
			t.Fatalf("%d rows, want %d", r.Len(), len(want)/dim)
		}
		all, one := make([]float32, len(want)), make([]float32, dim)
		r.All(all)
		lo := rapid.IntRange(0, r.Len()).Draw(t, "lo")
		hi := rapid.IntRange(lo, r.Len()).Draw(t, "hi")
		part := r.Slice(lo, hi)
		part = part.Clone()
		again := New(as, dim, 0)
		again.Append(all)
		for i := range r.Len() {
			row, largest := want[i*dim:(i+1)*dim], 0.0
			for _, v := range row {
				largest = max(largest, math.Abs(float64(v)))
			}
			r.Copy(one, i)
			for j, v := range one {
				off := map[Format]float64{Float16: max(math.Abs(float64(row[j]))/2048, 1e-7), Int8: max(largest/253, 0x1p-119)}[as]
				if v != all[i*dim+j] || math.Abs(float64(v-row[j])) > off {
					t.Fatalf("%q: number %d of row %d is %v and %v, want %v", as, j, i, v, all[i*dim+j], row[j])
				}
			}
			if i >= lo && i < hi {
				other := make([]float32, dim)
				if part.Copy(other, i-lo); !slices.Equal(other, one) {
					t.Fatalf("row %d of a slice is %v, want %v", i, other, one)
				}
			}
			other := make([]float32, dim)
			again.Copy(other, i)
			for j := range other {
				if math.Abs(float64(other[j]-one[j])) > 4e-7*math.Abs(float64(one[j])) || as == Float16 && other[j] != one[j] {
					t.Fatalf("%q: stored again, row %d is %v, want %v", as, i, other, one)
				}
			}
		}
	})
}

// TestFits: float16 refuses what it would change to its largest number.
func TestFits(t *testing.T) {
	for v, fits := range map[float32]bool{0: true, -65504: true, 65504: true, 65505: false, -1e9: false, float32(math.NaN()): false} {
		if err := Float16.Fits([]float32{1, v}); (err == nil) != fits {
			t.Errorf("%v: %v", v, err)
		}
		if err := Int8.Fits([]float32{v}); err != nil {
			t.Errorf("%v in 8 bits: %v", v, err)
		}
	}
	if Format("float8").Check() == nil || Format("").Check() != nil || Format("int8").Check() != nil {
		t.Error("formats are taken that don't exist, or others not")
	}
}
