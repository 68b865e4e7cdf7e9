package kernels

// ReLU writes max(x, 0) to dst: NaN for NaN, and a zero of either sign for −0.
func ReLU(dst, x []float32) {
	checkLen("ReLU", "x", len(x), len(dst))
	active.relu(dst, x)
}

// ReLUGrad writes to dx, or adds there, the gradient of ReLU: dy where y > 0, else 0. y may be ReLU's output or its
// input; where y is NaN the gradient is dy.
func ReLUGrad(dx, y, dy []float32, accumulate bool) {
	checkGrad("ReLUGrad", dx, y, dy)
	active.reluGrad(dx, y, dy, accumulate)
}

// Exp writes eˣ to dst: +Inf above 88.72, denormal below −87.33 and 0 below −103.97.
func Exp(dst, x []float32) {
	checkLen("Exp", "x", len(x), len(dst))
	active.exp(dst, x, 0)
}

// Log writes the natural logarithm of x to dst: −Inf for 0, NaN for negative x.
func Log(dst, x []float32) {
	checkLen("Log", "x", len(x), len(dst))
	active.log(dst, x)
}

// Sigmoid writes 1/(1+e⁻ˣ) to dst.
func Sigmoid(dst, x []float32) {
	checkLen("Sigmoid", "x", len(x), len(dst))
	active.sigmoid(dst, x)
}

// SigmoidGrad writes to dx, or adds there, the gradient of Sigmoid: dy·y·(1−y), y being Sigmoid's output.
func SigmoidGrad(dx, y, dy []float32, accumulate bool) {
	checkGrad("SigmoidGrad", dx, y, dy)
	active.sigmoidGrad(dx, y, dy, accumulate)
}

// Tanh writes the hyperbolic tangent of x to dst.
func Tanh(dst, x []float32) {
	checkLen("Tanh", "x", len(x), len(dst))
	active.tanh(dst, x)
}

// TanhGrad writes to dx, or adds there, the gradient of Tanh: dy·(1−y²), y being Tanh's output.
func TanhGrad(dx, y, dy []float32, accumulate bool) {
	checkGrad("TanhGrad", dx, y, dy)
	active.tanhGrad(dx, y, dy, accumulate)
}

func checkGrad(op string, dx, y, dy []float32) {
	checkLen(op, "y", len(y), len(dx))
	checkLen(op, "dy", len(dy), len(dx))
}
