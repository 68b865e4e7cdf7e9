package optimizer

// An Inertial rule has momentum: it repeats a fraction of every update in the next one. So a server can predict its
// weights before the next gradients are known.
type Inertial interface {
	Rule
	// Inertia is the fraction of an update that the next one repeats: Adam's β₁, the μ of momentum. It is at least 0
	// and below 1.
	Inertia() float64
}

// Inertia implements [Inertial].
func (r Adam) Inertia() float64 { return r.withDefaults().Beta1 }

// Inertia implements [Inertial].
func (r AdamW) Inertia() float64 { return r.adam().Beta1 }

// Inertia implements [Inertial].
func (r Adamax) Inertia() float64 { return or(r.Beta1, 0.9) }

// Inertia implements [Inertial].
func (r Lamb) Inertia() float64 { return or(r.Beta1, 0.9) }

// Inertia implements [Inertial].
func (r Momentum) Inertia() float64 { return or(r.Momentum, 0.9) }

// Inertia implements [Inertial].
func (r Lars) Inertia() float64 { return or(r.Momentum, 0.9) }

// Inertia implements [Inertial].
func (r RMSProp) Inertia() float64 { return or(r.Momentum, 0) }
