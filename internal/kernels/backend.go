package kernels

// backend is a path: the set of inner loops on which the public functions run. Their callers have checked lengths, so
// an inner loop may rely on all its slices being as long as the last one. A slice may be empty unless the loop says
// otherwise.
//
// A faster path is a copy of the one below it with loops replaced (withAVX2, withAVX512), so that it also has the loops
// that were never written in assembly. Public functions call through active, one indirect call for a whole slice.
// Functions on single numbers are not part of a path.
type backend struct {
	name  string
	micro microKernel

	copyPanel packLoop
	turnPanel packLoop

	axpy   func(alpha float32, x, y []float32)
	beyond func(alpha float32, dst, from, x []float32)
	scaled func(dst, x []float32, less, factor float32)
	add    func(dst, x, y []float32)
	mul    gradLoop
	dot    func(x, y []float32) float32
	sum    func(x []float32) float32
	max    func(x []float32) float32 // the largest number, without regard to NaN

	relu    func(dst, x []float32)
	exp     func(dst, x []float32, shift float32)
	log     func(dst, x []float32)
	sigmoid func(dst, x []float32)
	tanh    func(dst, x []float32)

	reluGrad    gradLoop
	sigmoidGrad gradLoop
	tanhGrad    gradLoop
	softmaxGrad func(dx, y, dy []float32, dot float32, accumulate bool)

	addWide, addSquares wideLoop
	normal              func(dst, x []float32, mean, factor []float64)

	half, bfloat         func(dst []byte, x []float32)
	fromHalf, fromBFloat func(dst []float32, src []byte)
	int8                 func(dst []byte, x []float32) (scale float32)
	fromInt8             func(dst []float32, src []byte, scale float32)

	gather, scatter func(dst, src []float32, dim int, index []int32)
}

// packLoop fills a panel of a packed matrix.
type packLoop func(panel []float32, height int, src []float32, stride, rows, depth int)

// gradLoop writes (or adds) to dx the gradient of an elementwise function with output y, given the gradient dy of y.
type gradLoop func(dx, y, dy []float32, accumulate bool)

// active is the path in use. Tests replace it, to run the same tests on every path.
var active = fastest()

// portable is the path that works on every processor.
var portable = backend{
	name:  "portable",
	micro: microKernel{rows: 4, cols: 4, run: micro4x4},

	copyPanel: copyPanel, turnPanel: turnPanel,
	axpy: axpy, beyond: beyond, scaled: scaled, add: add, mul: mul, dot: dot, sum: sum, max: maximum,
	relu: relu, exp: exp, log: log, sigmoid: sigmoid, tanh: tanh,
	reluGrad: reluGrad, sigmoidGrad: sigmoidGrad, tanhGrad: tanhGrad, softmaxGrad: softmaxGrad,
	addWide: addWide, addSquares: addSquares, normal: normal,
	half: half, bfloat: bfloat, int8: int8s, fromHalf: fromHalf, fromBFloat: fromBFloat, fromInt8: fromInt8,
	gather: gather, scatter: scatter,
}
