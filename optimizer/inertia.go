package optimizer

// Inertia is an optional method of [Rule].
func (r Adam) Inertia() float64 { return r.withDefaults().Beta1 }

// Inertia is an optional method of [Rule].
func (r AdamW) Inertia() float64 { return r.adam().Beta1 }

// Inertia is an optional method of [Rule].
func (r Adamax) Inertia() float64 { return or(r.Beta1, 0.9) }

// Inertia is an optional method of [Rule].
func (r Lamb) Inertia() float64 { return or(r.Beta1, 0.9) }

// Inertia is an optional method of [Rule].
func (r Momentum) Inertia() float64 { return or(r.Momentum, 0.9) }

// Inertia is an optional method of [Rule].
func (r Lars) Inertia() float64 { return or(r.Momentum, 0.9) }

// Inertia is an optional method of [Rule].
func (r RMSProp) Inertia() float64 { return or(r.Momentum, 0) }
