package optimizer

import "golang.org/x/sys/cpu"

// sgdLoops returns all loops that this processor can run, the fastest last.
func sgdLoops() []sgdLoop {
	all := []sgdLoop{sgdPortable}
	if cpu.X86.HasAVX2 {
		all = append(all, sgdAVX2)
	}
	return all
}

// sgdAVX2 leaves an incomplete vector at the end to the portable loop.
func sgdAVX2(w, g []float32, lr float32) {
	n := len(w) &^ 7
	if n > 0 {
		sgd8(w[:n], g[:n], lr)
	}
	if n < len(w) {
		sgdPortable(w[n:], g[n:], lr)
	}
}

// sgd8 updates len(w) weights, a multiple of 8.
//
//go:noescape
func sgd8(w, g []float32, lr float32)
