package fleet

import (
	"context"

	"github.com/gofleet/gofleet/optimizer"
)

// trainer is the trainer of an objective.
type trainer struct{ f *Fleet }

// Open implements [optimizer.Trainer].
func (t trainer) Open(params []*optimizer.Param) (optimizer.Session, error) {
	j, err := t.f.workerCall("training")
	if err != nil {
		return nil, err
	}
	s, err := j.Open(params)
	if err != nil {
		return nil, named("training", err)
	}
	return &ordered{inner: s, worker: t.f.id.Index, reading: j.Backend.Reading(), goesOn: j.GoesOn,
		trains: j.Trains, meter: &t.f.meter}, nil
}

// Looks is an optional method of [optimizer.Trainer].
func (t trainer) Looks() bool {
	j, err := t.f.workerCall("training")
	if err != nil {
		return false
	}
	l, is := j.Backend.(interface{ Looks() bool })
	return is && l.Looks()
}

// EndEpoch implements [optimizer.Trainer].
func (t trainer) EndEpoch(ctx context.Context) error {
	j, err := t.f.between(ctx, "EndEpoch")
	if err != nil {
		return err
	}
	return named("EndEpoch", j.Backend.EndEpoch(ctx))
}

// SetDense sets the values of a frozen dense param in this process: values that training computes without gradients,
// such as the statistics of batch norm.
func (t trainer) SetDense(name string, w []float32) error {
	j, err := t.f.workerCall("training")
	if err != nil {
		return err
	}
	return named("training", j.SetDense(name, w))
}
