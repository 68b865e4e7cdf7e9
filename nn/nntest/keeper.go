package nntest

import (
	"context"

	"github.com/gofleet/gofleet/optimizer"
)

// keeper is a trainer that keeps the initial weights, and records gradients if gradients is not nil.
type keeper struct{ gradients map[string][]float32 }

// session is a session with a keeper.
type session struct {
	*keeper
	params []*optimizer.Param
}

// Open opens a session.
func (k *keeper) Open(params []*optimizer.Param) (optimizer.Session, error) {
	for _, p := range params {
		if !p.Embedding {
			p.InitDense(p.W)
		}
	}
	return session{k, params}, nil
}

// EndEpoch does nothing.
func (k *keeper) EndEpoch(context.Context) error { return nil }

// Begin fills in rows.
func (s session) Begin(_ context.Context, step *optimizer.Step) error {
	for _, r := range step.Rows {
		for i, id := range r.IDs {
			r.Param.InitRow(r.W[i*r.Param.Dim():(i+1)*r.Param.Dim()], id)
		}
	}
	return nil
}

// End records gradients, 0 for rows that were not looked up.
func (s session) End(_ context.Context, step *optimizer.Step) error {
	if s.gradients == nil || step.Eval {
		return nil
	}
	for _, p := range s.params {
		if !p.Embedding && !p.Frozen {
			s.gradients[p.Name] = append([]float32(nil), p.G...)
		}
	}
	for _, r := range step.Rows {
		dim := r.Param.Dim()
		all := make([]float32, r.Param.Height()*dim)
		for i, id := range r.IDs {
			copy(all[int(id)*dim:], r.G[i*dim:(i+1)*dim])
		}
		s.gradients[r.Param.Name] = all
	}
	return nil
}

// Close does nothing.
func (s session) Close(context.Context) error { return nil }
