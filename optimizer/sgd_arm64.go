package optimizer

// sgdLoops returns all loops that this processor can run, the fastest last. Every arm64 has NEON.
func sgdLoops() []sgdLoop { return []sgdLoop{sgdPortable, sgdNEON} }

//go:noescape
func sgdNEON(w, g []float32, lr float32)
