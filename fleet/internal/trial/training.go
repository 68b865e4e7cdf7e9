package trial

import (
	"cmp"
	"context"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Training is a training of the toy, or a part of one between checkpoints. Its Run is the program of every role.
type Training struct {
	Toy      func() *Toy    // nil means NewToy
	Rule     optimizer.Rule // nil means Adam of rate 0.01
	Strategy strategy.Strategy
	From, To int                                     // steps [From, To)
	Batch    func(f *fleet.Fleet, step int) []Sample // a worker's batch; nil means Share
	Ahead    bool                                    // steps have the next batch, except the last step
	After    func(ctx context.Context, f *fleet.Fleet, o *Toy) error

	Load   string   // the initial checkpoint; none if empty
	Params []string // the params to load from it; nil means all
	Later  bool     // servers load it by LoadModel, after InitServer
	Save   string   // the directory of a checkpoint that every worker requests at the end; one must save it
	Model  string   // the directory into which worker 0 saves the model at the end
}

// Cluster returns a cluster of servers and workers; see [fleettest.Cluster] for one without servers.
func Cluster(servers, workers int) fleettest.Cluster {
	return fleettest.Cluster{Servers: servers, Workers: workers}
}

// On runs the training.
func (x Training) On(t testing.TB, c fleettest.Cluster) {
	t.Helper()
	c.Run(t, x.Run)
}

// Weights runs the training and returns the file of weights that worker 0 saves at the end: all of them, in an order
// that does not depend on the cluster.
func (x Training) Weights(t testing.TB, c fleettest.Cluster) []byte {
	t.Helper()
	x.Model = cmp.Or(x.Model, t.TempDir())
	x.On(t, c)
	return Weights(t, x.Model)
}

// Run runs a role: steps, After, and the saves after all workers have finished.
func (x Training) Run(ctx context.Context, f *fleet.Fleet) error {
	o := NewToy()
	if x.Toy != nil {
		o = x.Toy()
	}
	if x.Rule == nil {
		x.Rule = optimizer.Adam{LR: 0.01}
	}
	if err := Minimize(f, o, x.Rule, x.Strategy); err != nil {
		return err
	}
	if f.IsServer() && x.Later {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return Serve(ctx, f, x.Load)
	}
	return Begin(ctx, f, x.Load, func() error { return x.work(ctx, f, o) }, x.Params...)
}

func (x Training) work(ctx context.Context, f *fleet.Fleet, o *Toy) error {
	if err := x.train(ctx, f, o); err != nil {
		return err
	}
	if x.After != nil {
		if err := x.After(ctx, f, o); err != nil {
			return err
		}
	}
	if err := o.Close(ctx); err != nil || x.Save == "" && x.Model == "" {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if x.Save != "" {
		if err := f.SavePersistables(ctx, x.Save); err != nil {
			return err
		}
	}
	if x.Model == "" || !f.IsFirstWorker() {
		return nil
	}
	return f.SaveInferenceModel(ctx, x.Model, o)
}

// train makes the steps, in a session that it closes.
func (x Training) train(ctx context.Context, f *fleet.Fleet, o *Toy) error {
	batch := Share
	if x.Batch != nil {
		batch = x.Batch
	}
	for step := x.From; step < x.To; step++ {
		var next []Sample
		if x.Ahead && step+1 < x.To {
			next = batch(f, step+1)
		}
		if err := o.Train(ctx, batch(f, step), next); err != nil {
			return err
		}
	}
	return o.Close(ctx)
}
