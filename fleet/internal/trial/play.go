package trial

import (
	"context"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Play makes all calls of a role: a server serves until the job is over, and a worker joins, works and stops. A worker
// whose work fails does not stop: it sends nothing more.
func Play(ctx context.Context, f *fleet.Fleet, o optimizer.Objective, rule optimizer.Rule, s strategy.Strategy,
	work func() error) error {
	if err := Minimize(f, o, rule, s); err != nil {
		return err
	}
	return Begin(ctx, f, "", work)
}

// PlayGraph runs a role that trains a graph's loss, with an executor that is closed before the worker stops.
func PlayGraph(ctx context.Context, f *fleet.Fleet, loss *nn.Node, rule optimizer.Rule, s strategy.Strategy,
	work func(*nn.Executor) error) error {
	return Play(ctx, f, loss, rule, s, func() error {
		exe := nn.NewExecutor(loss.Graph())
		if err := work(exe); err != nil {
			return err
		}
		return exe.Close(ctx)
	})
}

// Minimize makes the first calls of every role.
func Minimize(f *fleet.Fleet, o optimizer.Objective, rule optimizer.Rule, s strategy.Strategy) error {
	opt, err := f.DistributedOptimizer(rule, s)
	if err != nil {
		return err
	}
	return opt.Minimize(o)
}

// Begin runs a role after Minimize, in a job that begins from a checkpoint, or afresh if its name is empty: servers
// load the checkpoint, or the workers of a job without servers; all of it, or the named params.
func Begin(ctx context.Context, f *fleet.Fleet, checkpoint string, work func() error, params ...string) error {
	if f.IsServer() {
		return Serve(ctx, f, checkpoint, params...)
	}
	if checkpoint != "" && f.ServerNum() == 0 {
		if err := f.LoadModel(ctx, checkpoint, params...); err != nil {
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

// Serve runs a server: from a checkpoint, with all params or the named ones, until the job is over.
func Serve(ctx context.Context, f *fleet.Fleet, checkpoint string, params ...string) error {
	if err := f.InitServer(ctx, checkpoint, params...); err != nil {
		return err
	}
	return f.RunServer(ctx)
}

// Join runs a server to its end, or makes a worker ready; the caller does the rest of the worker's calls.
func Join(ctx context.Context, f *fleet.Fleet, o optimizer.Objective, rule optimizer.Rule,
	s strategy.Strategy) (worker bool, err error) {
	if err := Minimize(f, o, rule, s); err != nil {
		return false, err
	}
	if f.IsServer() {
		return false, Serve(ctx, f, "")
	}
	err = f.InitWorker(ctx)
	return err == nil, err
}
