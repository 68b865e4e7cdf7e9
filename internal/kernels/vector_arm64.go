package kernels

// The inner loops for NEON.

//go:noescape
func beyondNEON(alpha float32, dst, from, x []float32)

//go:noescape
func axpyNEON(alpha float32, x, y []float32)

//go:noescape
func scaledNEON(dst, x []float32, less, factor float32)

//go:noescape
func addNEON(dst, x, y []float32)

//go:noescape
func mulNEON(dst, x, y []float32, accumulate bool)

//go:noescape
func dotNEON(x, y []float32) float32

//go:noescape
func sumNEON(x []float32) float32

//go:noescape
func maximumNEON(x []float32) float32

//go:noescape
func reluNEON(dst, x []float32)

//go:noescape
func expNEON(dst, x []float32, shift float32)

//go:noescape
func sigmoidNEON(dst, x []float32)

//go:noescape
func tanhNEON(dst, x []float32)

//go:noescape
func reluGradNEON(dx, y, dy []float32, accumulate bool)

//go:noescape
func sigmoidGradNEON(dx, y, dy []float32, accumulate bool)

//go:noescape
func tanhGradNEON(dx, y, dy []float32, accumulate bool)

//go:noescape
func softmaxGradNEON(dx, y, dy []float32, dot float32, accumulate bool)

//go:noescape
func gatherNEON(dst, src []float32, dim int, index []int32)

//go:noescape
func scatterNEON(dst, src []float32, dim int, index []int32)
