package kernels

// Packed is a matrix B that was packed once for several products; [Gemm] packs it for each, which takes longer than the
// product itself if A has few rows. Any number of goroutines may use it.
type Packed struct {
	micro  microKernel
	k, n   int
	blocks [][]float32 // in the order in which a product takes them
}

// Pack packs a copy of b, k×n, row-major.
func Pack(k, n int, b []float32) *Packed {
	checkLen("Pack", "B", len(b), k*n)
	w := &Packed{micro: active.micro, k: k, n: n}
	j := gemmJob{micro: w.micro}
	for p := 0; p < k; p += blockDepth {
		for q := 0; q < n; q += blockWidth {
			j.source = operand(b, n, k, false).from(p, q)
			j.depth, j.width = min(blockDepth, k-p), min(blockWidth, n-q)
			j.b = make([]float32, j.panels()*j.micro.cols*j.depth)
			for at := 0; at < j.width; at += j.micro.cols {
				j.pack(at, j.b[at*j.depth:])
			}
			w.blocks = append(w.blocks, j.b)
		}
	}
	return w
}

// GemmPacked writes A·B to C. Its bits are those of Gemm(false, false, m, n, k, a, b, c, false) for two rows and
// columns or more. A is m×k.
func GemmPacked(m int, a []float32, b *Packed, c []float32) {
	checkLen("GemmPacked", "A", len(a), m*b.k)
	checkLen("GemmPacked", "C", len(c), m*b.n)
	j := newJob(b.micro, m, b.n, gemmThreads(m, b.n, b.k))
	j.ready = true
	for p, blocks := 0, b.blocks; p < b.k; p += blockDepth {
		for q := 0; q < b.n; q, blocks = q+blockWidth, blocks[1:] {
			j.b = blocks[0]
			j.block(operand(a, b.k, m, false), p, q, b.n, b.k, c, p > 0)
		}
	}
	j.free()
}
