package optimizer

// adamLoops returns all loops that this processor can run, the fastest last. Every arm64 has NEON.
func adamLoops() []adamLoop { return []adamLoop{adamPortable, adamNEON} }

//go:noescape
func adamNEON(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)
