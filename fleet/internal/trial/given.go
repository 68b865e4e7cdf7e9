package trial

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// Given is an objective of one vector whose gradients a test gives, so that a formula by hand can follow.
type Given struct {
	Objective
	W       *optimizer.Param
	Loss    float64           // of the next step
	Session optimizer.Session // the first step opens it
}

// NewGiven begins with these weights.
func NewGiven(w ...float32) *Given {
	g := &Given{W: Dense("w", optimizer.Assign(w), len(w))}
	g.List = []*optimizer.Param{g.W}
	return g
}

// Step makes a step of n samples with a gradient, and returns what the weights were before it.
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

// Weights are what its session sees now.
func (g *Given) Weights(ctx context.Context) ([]float32, error) {
	err := g.open()
	if err == nil {
		err = Look(ctx, g.Session)
	}
	return slices.Clone(g.W.W), err
}

// open opens its session, once.
func (g *Given) open() (err error) {
	if g.Session == nil {
		g.Session, err = g.OpenSession()
	}
	return err
}
