package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestGemmViews: products of matrices that lie in larger ones, or overlap, have the bits of copies of them, and write nothing beside
// theirs.
func TestGemmViews(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(35, 36))
		for range tries(60) {
			count, m, n, k := 1+r.IntN(4), 2+r.IntN(60), 2+r.IntN(70), 2+r.IntN(600)
			a, b, c := drawView(r, count, m, k), drawView(r, count, k, n), drawView(r, count, n, m).Turned()
			c.Row, c.Col = n+r.IntN(9), 1
			c.Step = m * c.Row
			if c.Data = random(r, count*c.Step); r.IntN(2) == 0 {
				b.Step = 0
			}
			accumulate := r.IntN(2) == 0
			want := append([]float32(nil), c.Data...)
			for i := range count {
				own := dense(View{want[i*c.Step:], c.Row, 1, 0}, 0, m, n)
				Gemm(false, false, m, n, k, dense(a, i, m, k), dense(b, i, k, n), own, accumulate)
				for row := range m {
					copy(want[i*c.Step+row*c.Row:], own[row*n:(row+1)*n])
				}
			}
			GemmViews(count, m, n, k, a, b, c, accumulate)
			sameBits(t, fmt.Sprint(count, " of ", m, n, k, a.Row, a.Col, b.Row, b.Col, b.Step, accumulate), c.Data, want)
		}
	})
}

// drawView is a view of so many matrices: apart, in wider rows or columns, or in rows that overlap.
func drawView(r *rand.Rand, count, rows, cols int) View {
	v := View{Row: 1 + r.IntN(2*cols), Col: 1}
	if r.IntN(2) == 0 {
		v.Row, v.Col = 1, 1+r.IntN(2*rows)
	}
	v.Step = (rows-1)*v.Row + (cols-1)*v.Col + 1 - r.IntN(2)
	v.Data = random(r, (count-1)*v.Step+(rows-1)*v.Row+(cols-1)*v.Col+1)
	return v
}

// dense is a copy of the i-th matrix.
func dense(v View, i, rows, cols int) (x []float32) {
	for row := range rows {
		for col := range cols {
			x = append(x, v.Data[i*v.Step+row*v.Row+col*v.Col])
		}
	}
	return x
}

// TestGemmViewsEnd: what ends before its last element is refused.
func TestGemmViewsEnd(t *testing.T) {
	short := View{Data: make([]float32, 11), Row: 4, Col: 1}
	whole := View{Data: make([]float32, 16), Row: 4, Col: 1}
	defer func() {
		if recover() == nil {
			t.Error("A of 3 rows of 4 in 11 elements was read")
		}
	}()
	GemmViews(1, 3, 4, 4, short, whole, whole, false)
}
