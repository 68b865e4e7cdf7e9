package kernels

import "math"

func relu(dst, x []float32) {
	for i, v := range x {
		dst[i] = max(v, 0)
	}
}

// exp writes e^(x−shift) to dst.
func exp(dst, x []float32, shift float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v - shift)))
	}
}

func log(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Log(float64(v)))
	}
}

func sigmoid(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func tanh(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

func reluGrad(dx, y, dy []float32, accumulate bool) {
	for i, v := range y {
		g := dy[i]
		if v <= 0 {
			g = 0
		}
		put(&dx[i], g, accumulate)
	}
}

func sigmoidGrad(dx, y, dy []float32, accumulate bool) {
	for i, v := range y {
		put(&dx[i], dy[i]*v*(1-v), accumulate)
	}
}

func tanhGrad(dx, y, dy []float32, accumulate bool) {
	for i, v := range y {
		put(&dx[i], dy[i]*(1-v*v), accumulate)
	}
}

// softmaxGrad writes the gradient of one row; dot is the inner product of y and dy.
func softmaxGrad(dx, y, dy []float32, dot float32, accumulate bool) {
	for i, v := range y {
		put(&dx[i], v*(dy[i]-dot), accumulate)
	}
}

func put(dst *float32, v float32, accumulate bool) {
	if accumulate {
		v += *dst
	}
	*dst = v
}
