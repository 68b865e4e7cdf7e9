package gradient_test

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/law"
)

// anyFloat is any finite float32, of any magnitude.
func anyFloat(r *rand.Rand) float32 {
	for {
		if v := math.Float32frombits(r.Uint32()); v-v == 0 {
			return v
		}
	}
}

// exactly is the twin: the sum with as many bits as it takes.
func exactly(x []float32) float64 {
	sum := new(big.Float).SetPrec(1000)
	for _, v := range x {
		b := new(big.Float).SetPrec(1000).SetFloat64(float64(v))
		sum.Add(sum, b.Mul(b, b))
	}
	f, _ := sum.Float64()
	return f
}

func TestSquaresAreExact(t *testing.T) {
	law.Slow(t)
	r := rand.New(rand.NewPCG(1, 2))
	tiny := math.Float32frombits(1)
	all := [][]float32{{}, {0}, {tiny}, {math.MaxFloat32}, {math.MaxFloat32, tiny, 1, -1}, {3, 4}}
	long := make([]float32, 1<<17+3) // mantissas of ones, which carry most
	for i := range long {
		long[i] = math.Nextafter32(2, 0)
	}
	all = append(all, long)
	for n := range 100 {
		x := make([]float32, n)
		for i := range x {
			if x[i] = anyFloat(r); n%2 == 0 {
				x[i] = r.Float32() - 0.5
			}
		}
		all = append(all, x)
	}
	for _, x := range all {
		var s gradient.Squares
		s.Add(x)
		want := exactly(x)
		if got := s.Float64(); math.Abs(got-want) > want*0x1p-52 {
			t.Errorf("squares of %d numbers, %v..., sum to %g, want %g", len(x), x[:min(len(x), 9)], got, want)
		}
		if want := gradient.AppendSquares(nil, []gradient.Squares{s}); !bytes.Equal(shared(r, x), want) {
			t.Errorf("the sum of %d numbers depends on who adds which when", len(x))
		}
	}
}

// shared sums numbers in another order and in three places.
func shared(r *rand.Rand, x []float32) []byte {
	x = append([]float32(nil), x...)
	r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
	var parts [3]gradient.Squares
	for _, v := range x {
		parts[r.IntN(3)].Add([]float32{v})
	}
	parts[2].Merge(&parts[0])
	parts[2].Merge(&parts[1])
	return gradient.AppendSquares(nil, parts[2:])
}

func TestSquaresBeyondFinite(t *testing.T) {
	for _, v := range []float32{float32(math.Inf(1)), float32(math.NaN())} {
		var s, whole gradient.Squares
		s.Add([]float32{1, v})
		whole.Add([]float32{2})
		whole.Merge(&s)
		back, err := gradient.ParseSquares(gradient.AppendSquares(nil, []gradient.Squares{whole}), 1)
		if err != nil || !math.IsNaN(back[0].Float64()) {
			t.Errorf("with %v the sum is %v, error %v, want NaN", v, back, err)
		}
	}
}

func FuzzSquares(f *testing.F) {
	var s gradient.Squares
	s.Add([]float32{1, 2e-20, 3e20})
	f.Add(gradient.AppendSquares(nil, []gradient.Squares{{}, s}))
	f.Add([]byte{255, 0, 21, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		sums, err := gradient.ParseSquares(b, 2)
		if err != nil {
			return
		}
		again, err := gradient.ParseSquares(gradient.AppendSquares(nil, sums), 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sums {
			if x, y := sums[i].Float64(), again[i].Float64(); x != y && x == x {
				t.Errorf("sum %d was %g, is %g", i, x, y)
			}
		}
	})
}

func BenchmarkSquares(b *testing.B) {
	x := make([]float32, 1<<16)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	b.SetBytes(4 << 16)
	var s gradient.Squares
	for b.Loop() {
		s.Add(x)
	}
}
