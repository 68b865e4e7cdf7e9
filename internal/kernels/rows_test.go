package kernels

import (
	"math/rand/v2"
	"testing"
)

func TestRows(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(19, 20))
		for dim := 1; dim < 70; dim++ {
			index := make([]int32, r.IntN(100))
			for i := range index {
				index[i] = int32(r.IntN(11))
			}
			checkRowMoves(t, random(r, 11*dim), random(r, len(index)*dim), dim, index)
		}
		GatherRows(nil, nil, 5, nil)
		ScatterAddRows(nil, nil, 0, nil)
	})
}

// checkRowMoves compares with element by element moves; scattered rows must be added in order, so all bits are compared.
func checkRowMoves(t *testing.T, table, rows []float32, dim int, index []int32) {
	t.Helper()
	gathered, scattered := guard(rows), guard(table)
	wantRows, wantTable := make([]float32, len(rows)), append([]float32(nil), table...)
	GatherRows(gathered.data, table, dim, index)
	ScatterAddRows(scattered.data, rows, dim, index)
	for i := range rows {
		at := int(index[i/dim])*dim + i%dim
		wantRows[i] = table[at]
		wantTable[at] += rows[i]
	}
	sameBits(t, "GatherRows", gathered.data, wantRows)
	sameBits(t, "ScatterAddRows", scattered.data, wantTable)
	gathered.check(t)
	scattered.check(t)
}

func TestRowsOutOfRange(t *testing.T) {
	for _, r := range []int32{-1, 3, 1 << 30} {
		panics(t, "GatherRows", func() { GatherRows(make([]float32, 2), make([]float32, 6), 2, []int32{r}) })
		panics(t, "ScatterAddRows", func() { ScatterAddRows(make([]float32, 6), make([]float32, 2), 2, []int32{r}) })
	}
}

// TestRuns: runs of any size come where they belong, and nothing beside them changes.
func TestRuns(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(21, 22))
		for size := range 40 {
			count, to, from := r.IntN(5), size+r.IntN(3), size+r.IntN(9)-4
			from = max(from, 0)
			src, dst := random(r, 4*from+size), guard(random(r, 4*to+size))
			want := append([]float32(nil), dst.data...)
			for i := range count {
				copy(want[i*to:], src[i*from:][:size])
			}
			CopyRuns(dst.data, to, src, from, count, size)
			sameBits(t, "CopyRuns", dst.data, want)
			dst.check(t)
		}
		panics(t, "CopyRuns", func() { CopyRuns(make([]float32, 5), 3, make([]float32, 9), 1, 2, 3) })
		panics(t, "CopyRuns", func() { CopyRuns(make([]float32, 9), 3, make([]float32, 3), 1, 2, 3) })
	})
}
