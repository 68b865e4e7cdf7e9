package fleet_test

import (
	"context"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// toy is an objective whose gradients are whole numbers or simple functions of the weights, so that sums are easy to check.
type toy struct {
	w, b, big *optimizer.Param
	emb, open *optimizer.Param
	trainer   optimizer.Trainer
	session   optimizer.Session
	counts    bool                  // steps say how often rows were shown and clicked
	spoil     func(*optimizer.Step) // if set, changes every step
}

func newToy() *toy {
	dense := func(name string, shape ...int) *optimizer.Param {
		p := &optimizer.Param{Name: name, Shape: shape, Init: optimizer.Uniform{Low: -1, High: 1}, Seed: 3}
		p.W, p.G = make([]float32, p.Size()), make([]float32, p.Size())
		p.InitDense(p.W)
		return p
	}
	rows := func(name string, height, dim int) *optimizer.Param {
		return &optimizer.Param{Name: name, Shape: []int{height, dim}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}, Seed: 3}
	}
	return &toy{w: dense("w", 7, 3), b: dense("b", 3), big: dense("big", 300, 100), emb: rows("emb", 50_000, 4), open: rows("open", 0, 2)}
}

func (o *toy) Params() []*optimizer.Param {
	return []*optimizer.Param{o.w, o.emb, o.big, o.open, o.b}
}
func (o *toy) Bind(t optimizer.Trainer) { o.trainer = t }

// sample is a training example of the toy: ids of both embeddings and a number.
type sample struct {
	emb, open uint64
	x         float32
}

func samples(n, seed int) []sample {
	all := make([]sample, n)
	for i := range all {
		k := uint64(i*2654435761+seed*977) >> 3
		all[i] = sample{emb: (k * 7919) % 50_000, open: k * 0x9e3779b97f4a7c15, x: float32(k%17)/16 - 0.5}
	}
	return all
}

// step is one batch's step: every dense gradient is weight·x averaged, every row's likewise over the whole batch.
func (o *toy) step(batch, next []sample) *optimizer.Step {
	st := &optimizer.Step{Samples: len(batch), Rows: make([]optimizer.Rows, 2)}
	for i, pick := range []func(sample) uint64{func(s sample) uint64 { return s.emb }, func(s sample) uint64 { return s.open }} {
		r := &st.Rows[i]
		r.Param = []*optimizer.Param{o.emb, o.open}[i]
		r.IDs = ids(batch, pick)
		r.W, r.G = make([]float32, len(r.IDs)*r.Param.Dim()), make([]float32, len(r.IDs)*r.Param.Dim())
		if next != nil {
			r.Next = ids(next, pick)
		}
		if o.counts {
			countShown(r, batch, pick)
		}
	}
	if o.spoil != nil {
		o.spoil(st)
	}
	return st
}

// countShown says that every example shows its row, and that those with a positive number were clicked.
func countShown(r *optimizer.Rows, batch []sample, pick func(sample) uint64) {
	r.Show, r.Click = make([]float32, len(r.IDs)), make([]float32, len(r.IDs))
	for _, s := range batch {
		at, _ := slices.BinarySearch(r.IDs, pick(s))
		if r.Show[at]++; s.x > 0 {
			r.Click[at]++
		}
	}
}

func ids(batch []sample, pick func(sample) uint64) []uint64 {
	var out []uint64
	for _, s := range batch {
		out = append(out, pick(s))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *toy) train(ctx context.Context, batch, next []sample) error {
	if o.session == nil {
		s, err := o.trainer.Open(o.Params())
		if err != nil {
			return err
		}
		o.session = s
	}
	st := o.step(batch, next)
	if err := o.session.Begin(ctx, st); err != nil {
		return err
	}
	o.gradients(st, batch)
	return o.session.End(ctx, st)
}

func (o *toy) gradients(st *optimizer.Step, batch []sample) {
	n := float32(len(batch))
	for _, p := range []*optimizer.Param{o.w, o.b, o.big} {
		clear(p.G)
		for _, s := range batch {
			for i := range p.G {
				p.G[i] += p.W[i] * s.x / n
			}
		}
	}
	for e := range st.Rows {
		r, dim := &st.Rows[e], st.Rows[e].Param.Dim()
		for _, s := range batch {
			id := []uint64{s.emb, s.open}[e]
			at, _ := slices.BinarySearch(r.IDs, id)
			for d := range dim {
				r.G[at*dim+d] += (r.W[at*dim+d] + s.x) / n
			}
		}
	}
}

// train runs the toy as a program: every role of it. Worker i trains on its part of every batch.
func train(ctx context.Context, f *fleet.Fleet, rule optimizer.Rule, s strategy.Strategy, steps int, after func(*toy) error) error {
	o := newToy()
	opt, err := f.DistributedOptimizer(rule, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(o); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	const batch = 24
	share := batch / f.WorkerNum()
	cut := func(step int) []sample {
		return samples(batch, step)[f.WorkerIndex()*share : (f.WorkerIndex()+1)*share]
	}
	for i := range steps {
		var next []sample
		if i+1 < steps {
			next = cut(i + 1)
		}
		if err := o.train(ctx, cut(i), next); err != nil {
			return err
		}
	}
	if o.session != nil {
		if err := o.session.Close(ctx); err != nil {
			return err
		}
	}
	if after != nil {
		if err := after(o); err != nil {
			return err
		}
	}
	return f.StopWorker(ctx)
}

func TestSyncTrains(t *testing.T) {
	fleettest.Run(t, 2, 3, func(ctx context.Context, f *fleet.Fleet) error {
		return train(ctx, f, optimizer.Adam{LR: 0.01}, strategy.Sync(), 10, nil)
	})
}

func TestAsyncTrains(t *testing.T) {
	fleettest.Run(t, 3, 4, func(ctx context.Context, f *fleet.Fleet) error {
		return train(ctx, f, optimizer.SGD{LR: 0.01}, strategy.Async(), 10, nil)
	})
}

// from plays a role of a job that begins from a checkpoint, or afresh without one.
func from(ctx context.Context, f *fleet.Fleet, checkpoint string, work func() error) error {
	if f.IsServer() {
		if err := f.InitServer(ctx, checkpoint); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if checkpoint != "" && f.ServerNum() == 0 {
		if err := f.LoadModel(ctx, checkpoint); err != nil {
			return err
		}
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}
