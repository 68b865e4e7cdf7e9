package optimizer

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Initializer gives a param its values before the first update. Fill sets every element of w; element i must be a pure
// function of the initializer's fields, key and i, so that a row has the same values on any server, in any order, and
// when it is created again after it was dropped. Implementations are plain comparable structs: their types and fields
// are part of the fingerprint that servers and workers compare. As in a [Rule], pointers are refused, and a field added
// later must have no effect at zero.
//
// An initializer of rows by id, for example read from a file, has a method FillRow(w []float32, id uint64), which sets
// w to row id of an embedding. Every process of a job must have the same values. If it has values only for the first
// ids and zeros for all others, it may have a method Given(dim int) int that returns their number; a saved model then
// contains only that many.
type Initializer interface {
	Fill(w []float32, key uint64)
}

// unit is the i-th number of the stream, uniform in [0, 1) with 53 bits.
func unit(key uint64, i int) float64 {
	return float64(kernels.Mix(key+uint64(i+1)*0x9e3779b97f4a7c15)>>11) * 0x1p-53
}

// normal is the i-th standard normal number of the stream (Box-Muller over two numbers of it).
func normal(key uint64, i int) float64 {
	r := math.Sqrt(-2 * math.Log(1-unit(key, 2*i)))
	return r * math.Cos(2*math.Pi*unit(key, 2*i+1))
}

// Constant sets every element to Value.
type Constant struct{ Value float32 }

// Fill implements [Initializer].
func (c Constant) Fill(w []float32, _ uint64) {
	for i := range w {
		w[i] = c.Value
	}
}

// Uniform draws from [Low, High); the zero value draws from [−1, 1).
type Uniform struct{ Low, High float32 }

// WithDefaults returns the initializer with its defaults filled in.
func (u Uniform) WithDefaults() Uniform {
	if u == (Uniform{}) {
		return Uniform{Low: -1, High: 1}
	}
	return u
}

// Fill implements [Initializer].
func (u Uniform) Fill(w []float32, key uint64) {
	u = u.WithDefaults()
	low, span := float64(u.Low), float64(u.High)-float64(u.Low)
	for i := range w {
		w[i] = float32(low + span*unit(key, i))
	}
}

// Normal draws from a normal distribution with mean Mean and standard deviation Std; a Std of 0 means 1. Use [Constant]
// for no deviation.
type Normal struct{ Mean, Std float32 }

// WithDefaults returns the initializer with its defaults filled in.
func (n Normal) WithDefaults() Normal {
	if n.Std == 0 {
		n.Std = 1
	}
	return n
}

// Fill implements [Initializer].
func (n Normal) Fill(w []float32, key uint64) {
	n = n.WithDefaults()
	for i := range w {
		w[i] = float32(float64(n.Mean) + float64(n.Std)*normal(key, i))
	}
}

// TruncatedNormal draws from the distribution of a [Normal], cut at two standard deviations on each side.
type TruncatedNormal struct{ Mean, Std float32 }

// WithDefaults returns the initializer with its defaults filled in.
func (n TruncatedNormal) WithDefaults() TruncatedNormal {
	return TruncatedNormal(Normal(n).WithDefaults())
}

// Fill implements [Initializer].
func (n TruncatedNormal) Fill(w []float32, key uint64) {
	n = n.WithDefaults()
	low, high := normalCDF(-2), normalCDF(2)
	for i := range w {
		z := math.Sqrt2 * math.Erfinv(2*(low+(high-low)*unit(key, i))-1)
		w[i] = float32(float64(n.Mean) + float64(n.Std)*z)
	}
}

func normalCDF(z float64) float64 { return (1 + math.Erf(z/math.Sqrt2)) / 2 }
