package nn

import (
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// shaped is an initializer whose numbers depend on the shape of the parameter.
type shaped interface {
	optimizer.Initializer
	resolve(shape []int) optimizer.Initializer
}

// XavierUniform draws from ±√(6/(fan_in+fan_out)) (Glorot and Bengio, 2010). It is the default of weights.
//
// The initializers of this package that depend on fans become an [optimizer.Uniform] or [optimizer.Normal] when a layer
// is built, and the shape known: a matrix [in out] has fan_in = in and fan_out = out, a convolution's filter [out in h
// w] has fan_in = in·h·w and fan_out = out·h·w, a vector has both equal to its length. Fill treats w as a vector.
type XavierUniform struct{}

// XavierNormal draws from a normal distribution with deviation √(2/(fan_in+fan_out)).
type XavierNormal struct{}

// KaimingUniform draws from ±√(6/fan_in), for layers before a ReLU (He et al., 2015).
type KaimingUniform struct{}

// KaimingNormal draws from a normal distribution with deviation √(2/fan_in).
type KaimingNormal struct{}

// FanInNormal draws from a normal distribution with deviation 1/√fan_in.
type FanInNormal struct{}

// FanInUniform draws from ±1/√fan_in.
type FanInUniform struct{}

// Fill implements [optimizer.Initializer].
func (x XavierUniform) Fill(w []float32, key uint64) { fillVector(x, w, key) }

// Fill implements [optimizer.Initializer].
func (x XavierNormal) Fill(w []float32, key uint64) { fillVector(x, w, key) }

// Fill implements [optimizer.Initializer].
func (k KaimingUniform) Fill(w []float32, key uint64) { fillVector(k, w, key) }

// Fill implements [optimizer.Initializer].
func (k KaimingNormal) Fill(w []float32, key uint64) { fillVector(k, w, key) }

// Fill implements [optimizer.Initializer].
func (f FanInNormal) Fill(w []float32, key uint64) { fillVector(f, w, key) }

// Fill implements [optimizer.Initializer].
func (f FanInUniform) Fill(w []float32, key uint64) { fillVector(f, w, key) }

func fillVector(s shaped, w []float32, key uint64) { s.resolve([]int{len(w)}).Fill(w, key) }

func (XavierUniform) resolve(shape []int) optimizer.Initializer {
	in, out := fans(shape)
	return symmetric(math.Sqrt(6 / (in + out)))
}

func (XavierNormal) resolve(shape []int) optimizer.Initializer {
	in, out := fans(shape)
	return optimizer.Normal{Std: float32(math.Sqrt(2 / (in + out)))}
}

func (KaimingUniform) resolve(shape []int) optimizer.Initializer {
	in, _ := fans(shape)
	return symmetric(math.Sqrt(6 / in))
}

func (KaimingNormal) resolve(shape []int) optimizer.Initializer {
	in, _ := fans(shape)
	return optimizer.Normal{Std: float32(math.Sqrt(2 / in))}
}

func (FanInNormal) resolve(shape []int) optimizer.Initializer {
	in, _ := fans(shape)
	return optimizer.Normal{Std: float32(1 / math.Sqrt(in))}
}

func (FanInUniform) resolve(shape []int) optimizer.Initializer {
	in, _ := fans(shape)
	return symmetric(1 / math.Sqrt(in))
}

func symmetric(bound float64) optimizer.Initializer {
	return optimizer.Uniform{Low: float32(-bound), High: float32(bound)}
}

// fans are the numbers of inputs and outputs of one element.
func fans(shape []int) (in, out float64) {
	if len(shape) == 1 {
		return float64(shape[0]), float64(shape[0])
	}
	if len(shape) == 2 {
		return float64(shape[0]), float64(shape[1])
	}
	field := product(shape[2:])
	return float64(shape[1] * field), float64(shape[0] * field)
}

func defaultInit(init optimizer.Initializer) optimizer.Initializer {
	if init == nil {
		return XavierUniform{}
	}
	return init
}

// resolve returns the initializer with its numbers fixed for a shape.
func resolve(init optimizer.Initializer, shape []int) optimizer.Initializer {
	if s, ok := init.(shaped); ok && len(shape) > 0 {
		return s.resolve(shape)
	}
	return init
}
