package optimizer

// adamLoop is the arithmetic of Adam on slices of the same length, with c1 = 1−β₁ and c2 = 1−β₂:
//
//	m ← b1·m + c1·g
//	v ← b2·v + c2·g·g
//	w ← w − rate·(m / (√v + eps))
//
// Every product is rounded before it is added, so that all loops, on all machines, give the same bits.
type adamLoop func(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)

// adam is the loop in use, the fastest that this processor has. Tests replace it.
var adam = func() adamLoop {
	all := adamLoops()
	return all[len(all)-1]
}()

func adamUpdate(w, g, state []float32, b1, b2, rate, eps float32) {
	n := len(w)
	adam(w, g[:n], state[:n], state[n:][:n], b1, 1-b1, b2, 1-b2, rate, eps)
}

// adamPortable is the loop for every machine. Conversions keep the compiler from fusing a product with the sum.
func adamPortable(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32) {
	n := len(w)
	g, m, v = g[:n], m[:n], v[:n]
	for i := range w {
		gi := g[i]
		mi := float32(b1*m[i]) + float32(c1*gi)
		vi := float32(b2*v[i]) + float32(c2*gi*gi)
		m[i], v[i] = mi, vi
		w[i] -= float32(rate * (mi / (sqrt(vi) + eps)))
	}
}
