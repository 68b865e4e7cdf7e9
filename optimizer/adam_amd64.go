package optimizer

import "golang.org/x/sys/cpu"

// adamLoops returns all loops that this processor can run, the fastest last.
func adamLoops() []adamLoop {
	all := []adamLoop{adamPortable}
	if cpu.X86.HasAVX2 {
		all = append(all, adamAVX2)
		if cpu.X86.HasAVX512F {
			all = append(all, adamAVX512)
		}
	}
	return all
}

// adamAVX2 leaves an incomplete vector at the end to the portable loop: masked stores are slow on some processors.
func adamAVX2(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32) {
	n := len(w) &^ 7
	adam8(w, g, m, v, b1, c1, b2, c2, rate, eps)
	if n < len(w) {
		adamPortable(w[n:], g[n:], m[n:], v[n:], b1, c1, b2, c2, rate, eps)
	}
}

// adam8 updates the first len(w)&^7 weights.
//
//go:noescape
func adam8(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)

//go:noescape
func adamAVX512(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)
