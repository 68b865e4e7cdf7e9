package kernels

// micro4x4 is the portable micro-kernel.
func micro4x4(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	for i := 0; i < 4; i += 2 {
		var s [8]float32
		dot2x4(k, a[i*row:], row, col, b, ldb, &s)
		store4(c[i*ldc:], s[:4], accumulate)
		store4(c[(i+1)*ldc:], s[4:], accumulate)
	}
}

// dot2x4 sums two rows of a tile, which is as much as stays in the registers of most processors.
func dot2x4(k int, a []float32, row, col int, b []float32, ldb int, s *[8]float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	at := 0
	for p := 0; p < k; p++ {
		a0, a1 := a[p*col], a[p*col+row]
		v := b[at : at+4 : at+4]
		at += ldb
		b0, b1, b2, b3 := v[0], v[1], v[2], v[3]
		s00 += a0 * b0
		s01 += a0 * b1
		s02 += a0 * b2
		s03 += a0 * b3
		s10 += a1 * b0
		s11 += a1 * b1
		s12 += a1 * b2
		s13 += a1 * b3
	}
	*s = [8]float32{s00, s01, s02, s03, s10, s11, s12, s13}
}

func store4(c, s []float32, accumulate bool) {
	for i, v := range s {
		put(&c[i], v, accumulate)
	}
}
