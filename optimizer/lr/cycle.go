package lr

import "math"

// CosineAnnealingDecay goes from LR to Min along half a cosine within Steps updates, back within as many, and so on.
type CosineAnnealingDecay struct {
	LR    float64
	Steps int64
	Min   float64
}

// Rate implements [Schedule].
func (d CosineAnnealingDecay) Rate(n int64) float64 {
	return cosine(d.LR, d.Min, float64(n)/float64(max(d.Steps, 1)))
}

// cosine goes from a (at 0) to b (at 1).
func cosine(a, b, part float64) float64 { return b + (a-b)*(1+math.Cos(math.Pi*part))/2 }

// CosineAnnealingWarmRestarts goes from LR towards Min within Steps updates and starts again, each time Mult times as
// long (Loshchilov and Hutter, 2017).
type CosineAnnealingWarmRestarts struct {
	LR    float64
	Steps int64
	// Mult is how much longer each cycle is than the one before; 0 means 1.
	Mult int64
	Min  float64
}

// Rate implements [Schedule].
func (d CosineAnnealingWarmRestarts) Rate(n int64) float64 {
	length, mult := max(d.Steps, 1), max(d.Mult, 1)
	if mult == 1 {
		n %= length
	}
	for n >= length {
		n -= length
		length *= mult
	}
	return cosine(d.LR, d.Min, float64(n)/float64(length))
}

// OneCycleLR rises from Max/Divide to Max in the first part of Steps updates and falls to End in the rest (Smith,
// 2018).
type OneCycleLR struct {
	Max   float64
	Steps int64
	// Divide gives the first rate, Max/Divide; 0 means 25.
	Divide float64
	// End is the last rate; 0 means 0.0001, and -1 means 0.
	End float64
	// Rise is the part of Steps in which the rate rises; 0 means 0.3.
	Rise float64
	// Line uses straight lines instead of cosines. ThreePhase falls to the first rate in as many updates as the rise
	// took, and from there to End.
	Line, ThreePhase bool
}

// Rate implements [Schedule].
func (d OneCycleLR) Rate(n int64) float64 {
	first, end := d.Max/or(d.Divide, 25), or(d.End, defaultEnd)
	peak, last := or(d.Rise, 0.3)*float64(d.Steps)-1, float64(d.Steps-1)
	x := min(float64(n), last)
	switch {
	case x <= peak:
		return d.between(first, d.Max, x, 0, peak)
	case !d.ThreePhase:
		return d.between(d.Max, end, x, peak, last)
	case x <= 2*peak:
		return d.between(d.Max, first, x, peak, 2*peak)
	}
	return d.between(first, end, x, 2*peak, last)
}

// between is the rate at x on the way from a, at from, to b, at to.
func (d OneCycleLR) between(a, b, x, from, to float64) float64 {
	if to <= from {
		return b
	}
	part := (x - from) / (to - from)
	if d.Line {
		return a + (b-a)*part
	}
	return cosine(a, b, part)
}

// CyclicMode is how the cycles of [CyclicLR] grow smaller.
type CyclicMode string

// The modes of [CyclicLR]: all cycles are as high, each is half as high as the one before, or Gammaⁿ as high.
const (
	Triangular  CyclicMode = "triangular"
	Triangular2 CyclicMode = "triangular2"
	ExpRange    CyclicMode = "exp_range"
)

// CyclicLR rises from Base to Max in Up updates, falls back in Down, and so on (Smith, 2017).
type CyclicLR struct {
	Base, Max float64
	Up        int64
	// Down is the length of the fall; 0 means Up.
	Down int64
	// Mode is Triangular when it is empty.
	Mode CyclicMode
	// Gamma is the factor of ExpRange; 0 means 1.
	Gamma float64
}

// Rate implements [Schedule].
func (d CyclicLR) Rate(n int64) float64 {
	up := float64(max(d.Up, 1))
	down := up
	if d.Down > 0 {
		down = float64(d.Down)
	}
	cycle, x := math.Floor(float64(n)/(up+down)), math.Mod(float64(n), up+down)
	part := x / up
	if x > up {
		part = (up + down - x) / down
	}
	return d.Base + (d.Max-d.Base)*part*d.height(cycle, n)
}

// height is the height of the cycle at update n.
func (d CyclicLR) height(cycle float64, n int64) float64 {
	switch d.Mode {
	case Triangular2:
		return math.Pow(0.5, cycle)
	case ExpRange:
		return math.Pow(or(d.Gamma, 1), float64(n))
	}
	return 1
}
