package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// tried is the number of steps, made within tryFor.
const (
	tried  = 20
	tryFor = 30 * time.Second
)

// try trains for some steps on separate tables, and predicts the same rows before and after them.
func (r *Report) try(ctx context.Context, j Job) error {
	params := j.Loss.Params()
	tables, err := local.New(params, j.Rule)
	if err != nil {
		return err
	}
	w := &watch{tables, j.Tolerates, map[string]*Param{}}
	for _, p := range params {
		w.params[p.Name] = &Param{Name: p.Name, Shape: p.Shape, Table: p.Embedding, Frozen: p.Frozen}
	}
	j.Loss.Bind(w)
	exe := nn.NewExecutor(j.Loss.Graph())
	first, err := dense(tables, params)
	if err != nil {
		return err
	}
	if r.before, err = r.predict(ctx, j, exe); err == nil {
		err = r.steps(ctx, j, exe)
	}
	if err != nil {
		return err
	}
	last, err := dense(tables, params)
	if err != nil {
		return err
	}
	for _, p := range params {
		of := w.params[p.Name]
		of.measure(p, j.Rule, first[p.Name], last[p.Name], len(r.lookups(p.Name)))
		r.Params = append(r.Params, *of)
	}
	if r.then, err = r.predict(ctx, j, exe); err == nil {
		r.tryEdges(ctx, j, exe)
	}
	return err
}

// several is the number of rows in a batch with an edge, since a loss may compare rows.
const several = 4

// tryEdges trains on, or tests, the rows with the smallest and the largest values of each feed: an id may be above its
// table, or a label no class.
func (r *Report) tryEdges(ctx context.Context, j Job, exe *nn.Executor) {
	for _, of := range []struct {
		what string
		rows *dataset.Dataset
		seen readings
		step func(context.Context, dataset.Batch, ...*nn.Node) ([]*tensor.Dense, error)
	}{{"row", j.Train, r.rows, exe.Train}, {"test row", j.Test, r.tested, exe.Eval}} {
		tried := map[int]bool{}
		for _, name := range r.graph.feeds {
			f := of.seen.feeds[name]
			for i := 0; f != nil && i < len(f.edges); i++ {
				row := f.edges[i].row
				if row < 0 || tried[row] {
					continue
				}
				tried[row] = true
				from := max(0, min(row, of.seen.count-several))
				batch, err := j.some(of.rows).Skip(from).Take(several).MayBeEmpty().Batch(ctx)
				if errors.Is(err, dataset.ErrOnePass) {
					break
				}
				if err == nil {
					_, err = of.step(ctx, batch, j.Loss)
				}
				if err != nil {
					r.fails(fmt.Sprintf("%s %d, or one beside it, fails", of.what, row), err)
					return // the executor can't be used any more
				}
			}
		}
	}
}

// steps makes the first steps of the first epoch.
func (r *Report) steps(ctx context.Context, j Job, exe *nn.Executor) error {
	until := time.Now().Add(tryFor)
	if end, brief := ctx.Deadline(); brief {
		until = time.Now().Add(time.Until(end) / 2)
	}
	for batch, err := range j.First.BatchesContext(ctx, j.Batch) {
		if err != nil {
			return err
		}
		if l := labelsOf(batch, r.graph); l != nil {
			r.labels = append(r.labels, [2]float64{slices.Min(l), slices.Max(l)})
		}
		loss, err := exe.Train(ctx, batch, j.Loss)
		if err != nil {
			return err
		}
		r.Losses = append(r.Losses, nn.Scalar(loss[0]))
		if len(r.Losses) == tried || time.Now().After(until) {
			break
		}
	}
	return exe.Close(ctx)
}

// dense are the values of all dense params.
func dense(t *local.Trainer, params []*optimizer.Param) (map[string][]float32, error) {
	values := map[string][]float32{}
	for _, p := range params {
		if p.Embedding {
			continue
		}
		w, err := t.Dense(p.Name)
		if err != nil {
			return nil, err
		}
		values[p.Name] = w
	}
	return values, nil
}

// measure sets the size of a param, and how far it moved.
func (p *Param) measure(of *optimizer.Param, rule optimizer.Rule, first, last []float32, ids int) {
	values := of.Size()
	if rule = rules.For(rule, of); p.Table {
		p.IDs, values = ids, of.Dim()
		p.Bytes = ids * 4 * (values + rule.StateLen(values))
		return
	}
	p.Bytes = 4 * values
	if !p.Frozen {
		p.Bytes += 4 * rule.StateLen(values)
	}
	moved := make([]float32, len(first))
	for i := range first {
		moved[i] = last[i] - first[i]
	}
	p.Norm, p.Moved = norm(first), norm(moved)
}

// scored is the number of rows that are predicted.
const scored = 2048

// predict measures the values that the loss compares with labels, for some rows.
func (r *Report) predict(ctx context.Context, j Job, exe *nn.Executor) (s Spread, err error) {
	if r.graph.pred == nil {
		return s, nil
	}
	for batch, err := range j.some(j.Train).Take(scored).MayBeEmpty().BatchesContext(ctx, min(scored/4, j.Batch)) {
		if err != nil {
			return s, err
		}
		got, err := exe.Eval(ctx, batch, r.graph.pred)
		if err != nil {
			return s, fmt.Errorf("predictions: %w", err)
		}
		s.See(r.graph.pred, got[0].Float32s(), exe.Examples())
	}
	return s, nil
}
