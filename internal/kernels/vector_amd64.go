package kernels

// The inner loops for AVX2 and FMA.

//go:noescape
func beyondAVX2(alpha float32, dst, from, x []float32)

//go:noescape
func axpyAVX2(alpha float32, x, y []float32)

//go:noescape
func scaledAVX2(dst, x []float32, less, factor float32)

//go:noescape
func addAVX2(dst, x, y []float32)

//go:noescape
func mulAVX2(dst, x, y []float32, accumulate bool)

//go:noescape
func dotAVX2(x, y []float32) float32

//go:noescape
func sumAVX2(x []float32) float32

//go:noescape
func maximumAVX2(x []float32) float32

//go:noescape
func reluAVX2(dst, x []float32)

//go:noescape
func expAVX2(dst, x []float32, shift float32)

//go:noescape
func sigmoidAVX2(dst, x []float32)

//go:noescape
func tanhAVX2(dst, x []float32)

//go:noescape
func reluGradAVX2(dx, y, dy []float32, accumulate bool)

//go:noescape
func sigmoidGradAVX2(dx, y, dy []float32, accumulate bool)

//go:noescape
func tanhGradAVX2(dx, y, dy []float32, accumulate bool)

//go:noescape
func softmaxGradAVX2(dx, y, dy []float32, dot float32, accumulate bool)

//go:noescape
func gatherAVX2(dst, src []float32, dim int, index []int32)

//go:noescape
func scatterAVX2(dst, src []float32, dim int, index []int32)

// The inner loops for AVX-512 (F, DQ, VL, BW).

//go:noescape
func beyondAVX512(alpha float32, dst, from, x []float32)

//go:noescape
func axpyAVX512(alpha float32, x, y []float32)

//go:noescape
func scaledAVX512(dst, x []float32, less, factor float32)

//go:noescape
func addAVX512(dst, x, y []float32)

//go:noescape
func mulAVX512(dst, x, y []float32, accumulate bool)

//go:noescape
func dotAVX512(x, y []float32) float32

//go:noescape
func sumAVX512(x []float32) float32

//go:noescape
func maximumAVX512(x []float32) float32

//go:noescape
func reluAVX512(dst, x []float32)

//go:noescape
func expAVX512(dst, x []float32, shift float32)

//go:noescape
func sigmoidAVX512(dst, x []float32)

//go:noescape
func tanhAVX512(dst, x []float32)

//go:noescape
func reluGradAVX512(dx, y, dy []float32, accumulate bool)

//go:noescape
func sigmoidGradAVX512(dx, y, dy []float32, accumulate bool)

//go:noescape
func tanhGradAVX512(dx, y, dy []float32, accumulate bool)

//go:noescape
func softmaxGradAVX512(dx, y, dy []float32, dot float32, accumulate bool)

//go:noescape
func gatherAVX512(dst, src []float32, dim int, index []int32)

//go:noescape
func scatterAVX512(dst, src []float32, dim int, index []int32)
