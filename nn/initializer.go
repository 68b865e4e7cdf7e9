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

// Xavier draws from ±√(6/(fan_in+fan_out)) (Glorot and Bengio, 2010). It is the default of weights.
//
// The initializers of this package that depend on fans become an [optimizer.Uniform] or [optimizer.Normal] when a layer
// is built, and the shape known: a matrix [in out] has fan_in = in and fan_out = out, a convolution's filter [out in h
// w] has fan_in = in·h·w and fan_out = out·h·w, a vector has both equal to its length. Fill treats w as a vector.
type Xavier struct {
	// Normal draws from a normal distribution with deviation √(2/(fan_in+fan_out)).
	Normal bool
}

// Kaiming draws from ±√(6/fan_in), for layers before a ReLU (He et al., 2015).
type Kaiming struct {
	// Normal draws from a normal distribution with deviation √(2/fan_in).
	Normal bool
}

// FanIn draws from ±1/√fan_in.
type FanIn struct {
	// Normal draws from a normal distribution with deviation 1/√fan_in.
	Normal bool
}

// Fill implements [optimizer.Initializer].
func (x Xavier) Fill(w []float32, key uint64) { fillVector(x, w, key) }

// Fill implements [optimizer.Initializer].
func (k Kaiming) Fill(w []float32, key uint64) { fillVector(k, w, key) }

// Fill implements [optimizer.Initializer].
func (f FanIn) Fill(w []float32, key uint64) { fillVector(f, w, key) }

func fillVector(s shaped, w []float32, key uint64) { s.resolve([]int{len(w)}).Fill(w, key) }

func (x Xavier) resolve(shape []int) optimizer.Initializer {
	in, out := fans(shape)
	return around0(x.Normal, math.Sqrt(2/(in+out)), math.Sqrt(6/(in+out)))
}

func (k Kaiming) resolve(shape []int) optimizer.Initializer {
	in, _ := fans(shape)
	return around0(k.Normal, math.Sqrt(2/in), math.Sqrt(6/in))
}

func (f FanIn) resolve(shape []int) optimizer.Initializer {
	in, _ := fans(shape)
	return around0(f.Normal, 1/math.Sqrt(in), 1/math.Sqrt(in))
}

// around0 is a normal distribution, or a uniform one within a bound.
func around0(normal bool, deviation, bound float64) optimizer.Initializer {
	if normal {
		return optimizer.Normal{Std: float32(deviation)}
	}
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
		return Xavier{}
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
