package fleet_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
)

// vectors is an objective of dense params, which looks at what they hold at its first step.
type vectors struct {
	params  []*optimizer.Param
	trainer optimizer.Trainer
}

func (v *vectors) Params() []*optimizer.Param { return v.params }
func (v *vectors) Bind(t optimizer.Trainer)   { v.trainer = t }

// TestTrainingBeginsWithW: what W holds counts in every kind of job, whatever the initializer says; W that was never set is given the
// initial values. Frozen params are no exception.
func TestTrainingBeginsWithW(t *testing.T) {
	half := optimizer.Constant{Value: 0.5}
	vector := func(name string, init optimizer.Initializer, frozen bool, w ...float32) *optimizer.Param {
		return &optimizer.Param{Name: name, Shape: []int{len(w)}, W: w, G: make([]float32, len(w)), Init: init, Frozen: frozen}
	}
	want := map[string][]float32{"set": {1, 0, 3}, "set beside Init": {0, 2}, "unset": {0.5, 0.5}, "zero": {0, 0}, "frozen": {4, 0}, "frozen, unset": {0.5}}
	for name, j := range jobs() {
		t.Run(name, func(t *testing.T) {
			j.cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				v := &vectors{params: []*optimizer.Param{vector("set", nil, false, 1, 0, 3), vector("set beside Init", half, false, 0, 2),
					vector("unset", half, false, 0, 0), vector("zero", nil, false, 0, 0), vector("frozen", half, true, 4, 0),
					vector("frozen, unset", half, true, 0)}}
				opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, j.strategy)
				if err != nil {
					return err
				}
				if err := opt.Minimize(v); err != nil {
					return err
				}
				return roles(ctx, f, func() error { return v.look(ctx, t, f, want) })
			})
		})
	}
}

// roles makes the calls of a role that begins anew; work is a worker's.
func roles(ctx context.Context, f *fleet.Fleet, work func() error) error {
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

func (v *vectors) look(ctx context.Context, t *testing.T, f *fleet.Fleet, want map[string][]float32) error {
	s, err := v.trainer.Open(v.params)
	if err != nil {
		return err
	}
	step := &optimizer.Step{Samples: 1}
	if err := s.Begin(ctx, step); err != nil {
		return err
	}
	for _, p := range v.params {
		if !slices.Equal(p.W, want[p.Name]) {
			t.Errorf("%v begins with %q %v, want %v", f, p.Name, p.W, want[p.Name])
		}
	}
	return errors.Join(s.End(ctx, step), s.Close(ctx))
}
