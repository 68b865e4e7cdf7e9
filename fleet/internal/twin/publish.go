package twin

import (
	"context"
	"errors"
	"slices"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
)

// publish saves a model, a base, or what has changed since the base, and reads it back.
func (r *role) publish(ctx context.Context, at string, c Call) error {
	return r.together(ctx, func() error {
		dir, model := r.at(c.model()), nn.Inference(r.g.pred)
		var err error
		switch {
		case c.Mode == "":
			err = r.f.SaveInferenceModel(ctx, dir, model)
			if err != nil {
				return err
			}
			return errors.Join(r.published(ctx, at, c, dir), r.ledger(ctx, at))
		case c.Mode == "delta":
			dir = r.at(served) + "/" + c.model()
			err = r.delta(ctx, dir, model)
		default:
			dir = r.at(served) + "/" + c.model()
			err = r.base(ctx, dir, model, c)
		}
		if err != nil {
			return err
		}
		return errors.Join(r.published(ctx, at, c, r.chain...), r.ledger(ctx, at))
	})
}

// serves has a base have the rows that a call wants, and a delta every row, whatever its score is.
func (n Net) serves(mode fleet.SaveMode, model optimizer.Model, published string, c Call) fleet.SaveOptions {
	o := fleet.SaveOptions{Mode: mode, Model: model, Published: published}
	if n.rates() {
		o.BaseThreshold, o.DeltaKeepDays = -1, -1
		if c.Least > 0 {
			o.BaseThreshold = c.Least
		}
		if c.Unseen > 0 {
			o.DeltaKeepDays = c.Unseen
		}
	}
	if n.rates() && mode == fleet.SaveDelta {
		o.DeltaThreshold = -1
	}
	return o
}

// predicted is of how many samples predictions of a saved model are compared.
const predicted = 4

func firstFew() (some []int) {
	for i := range predicted {
		some = append(some, i)
	}
	return some
}

// published notes the weights of a model that a call has saved, with its deltas, and what it predicts.
func (r *role) published(ctx context.Context, at string, c Call, dirs ...string) error {
	m, err := serve.Load(dirs[0], dirs[1:]...)
	if err == nil {
		err = whole(ctx, dirs[len(dirs)-1])
	}
	if err != nil {
		return err
	}
	exe := nn.NewExecutor(m.Graph)
	y, err := exe.Eval(ctx, r.p.feed(firstFew(), false), m.Outputs[0])
	if err := errors.Join(err, exe.Close(ctx)); err != nil {
		return err
	}
	r.see(numbers(y[0]), "%s predicts", at)
	if slices.Equal(dirs, r.chain) { // a whole model has no deltas
		if err := r.scored(ctx, numbers(y[0])); err != nil {
			return err
		}
	}
	for _, p := range m.Graph.Params() {
		if !p.Embedding {
			r.see(wide(p.W), "%s %s", at, p.Name)
			continue
		}
		saved := map[uint64][]float32{}
		err := p.Rows.EachRow(func(ids []uint64, w []float32) error {
			for i, id := range ids {
				saved[id] = slices.Clone(w[i*p.Dim():][:p.Dim()])
				r.see(wide(saved[id]), "%s %s row %d", at, p.Name, id)
			}
			return nil
		})
		if err = errors.Join(err, r.has(ctx, p.Name, saved, c.leaves())); err != nil {
			return err
		}
	}
	return nil
}

func wide(w []float32) (all []float64) {
	for _, v := range w {
		all = append(all, float64(v))
	}
	return all
}
