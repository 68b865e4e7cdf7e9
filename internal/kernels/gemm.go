package kernels

import "runtime"

// Gemm writes op(A)·op(B) to C, or adds it there when accumulate is set. C is m×n; A is m×k, or k×m when transA is set;
// B is k×n, or n×k when transB is set; op transposes if that is set. All are contiguous and row-major, and C must not
// overlap A or B. The former values of C are not read unless accumulate is set.
//
// Large products are spread over up to GOMAXPROCS goroutines by rows of C, so that the result doesn't depend on their
// number. In steady state nothing is allocated.
func Gemm(transA, transB bool, m, n, k int, a, b, c []float32, accumulate bool) {
	checkLen("Gemm", "A", len(a), m*k)
	checkLen("Gemm", "B", len(b), k*n)
	checkLen("Gemm", "C", len(c), m*n)
	switch {
	case m == 0 || n == 0 || k == 0:
		if !accumulate {
			clear(c)
		}
	case n == 1:
		gemv(transA, m, k, a, b, c, accumulate)
	case m == 1:
		gemv(!transB, n, k, b, a, c, accumulate)
	case k == 1:
		outer(a, b, c, accumulate)
	default:
		A, B := operand(a, k, m, transA), operand(b, n, k, transB)
		gemmBlocked(A, B, m, n, k, c, accumulate, gemmThreads(m, n, k))
	}
}

// matrix is a view of a matrix: element (i, j) is data[i*row+j*col].
type matrix struct {
	data     []float32
	row, col int
}

// operand views contiguous data as a matrix with cols columns, or as the transpose of one with rows columns.
func operand(data []float32, cols, rows int, trans bool) matrix {
	if trans {
		return matrix{data, 1, rows}
	}
	return matrix{data, cols, 1}
}

// from returns the view that starts at element (i, j).
func (v matrix) from(i, j int) matrix {
	v.data = v.data[i*v.row+j*v.col:]
	return v
}

// turned returns the transpose.
func (v matrix) turned() matrix { return matrix{v.data, v.col, v.row} }

// perThread is the least work, in multiplications, that is worth a goroutine.
const perThread = 1 << 22

func gemmThreads(m, n, k int) int {
	return max(1, min(runtime.GOMAXPROCS(0), m*n*k/perThread))
}
