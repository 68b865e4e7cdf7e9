package optimizer

// sgdLoop is w ← w − lr·g on slices of the same length. The product is rounded before it is subtracted, so that all
// loops, on all machines, give the same bits.
type sgdLoop func(w, g []float32, lr float32)

// sgd is the loop in use, the fastest that this processor has. Tests replace it.
var sgd = func() sgdLoop {
	all := sgdLoops()
	return all[len(all)-1]
}()

// sgdPortable is the loop for every machine. The conversion keeps the compiler from fusing the product with the
// difference.
func sgdPortable(w, g []float32, lr float32) {
	g = g[:len(w)]
	for i := range w {
		w[i] -= float32(lr * g[i])
	}
}
