package trial

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// Given is an objective of one vector whose gradients a test gives, for comparison with a formula by hand.
type Given struct {
	Objective
	W       *optimizer.Param
	Loss    float64           // of the next step
	Session optimizer.Session // opened by the first step
}

// NewGiven returns a Given with these initial weights.
func NewGiven(w ...float32) *Given {
	g := &Given{W: Dense("w", optimizer.Assign(w), len(w))}
	g.List = []*optimizer.Param{g.W}
	return g
}

// Step makes a step of n samples with a gradient, and returns the weights before it.
func (g *Given) Step(ctx context.Context, n int, gradient ...float32) (before []float32, err error) {
	if err := g.open(); err != nil {
		return nil, err
	}
	st := &optimizer.Step{Samples: n}
	err = Step(ctx, g.Session, st, func() {
		before, st.Loss = slices.Clone(g.W.W), g.Loss
		copy(g.W.G, gradient)
	})
	return before, err
}

// Weights returns the weights that its session sees now.
func (g *Given) Weights(ctx context.Context) ([]float32, error) {
	err := g.open()
	if err == nil {
		err = Look(ctx, g.Session)
	}
	return slices.Clone(g.W.W), err
}

// open opens the session, once.
func (g *Given) open() (err error) {
	if g.Session == nil {
		g.Session, err = g.OpenSession()
	}
	return err
}
