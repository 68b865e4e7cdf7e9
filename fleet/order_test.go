package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// calls are what a program may call, by name.
func calls(ctx context.Context, dir string) map[string]func(*fleet.Fleet) error {
	return map[string]func(*fleet.Fleet) error{
		"InitServer":         func(f *fleet.Fleet) error { return f.InitServer(ctx, "") },
		"Restore":            func(f *fleet.Fleet) error { return f.Restore(ctx, dir, fleet.RestoreOptions{}) },
		"RunServer":          func(f *fleet.Fleet) error { return f.RunServer(ctx) },
		"InitWorker":         func(f *fleet.Fleet) error { return f.InitWorker(ctx) },
		"StopWorker":         func(f *fleet.Fleet) error { return f.StopWorker(ctx) },
		"BarrierWorker":      func(f *fleet.Fleet) error { return f.BarrierWorker(ctx) },
		"SavePersistables":   func(f *fleet.Fleet) error { return f.SavePersistables(ctx, dir) },
		"LoadModel":          func(f *fleet.Fleet) error { return f.LoadModel(ctx, dir) },
		"SaveInferenceModel": func(f *fleet.Fleet) error { return f.SaveInferenceModel(ctx, dir, trial.NewToy()) },
		"Rows": func(f *fleet.Fleet) error {
			for _, err := range f.Rows(ctx, "emb") {
				return err
			}
			return nil
		},
		"Plan": func(f *fleet.Fleet) error { _, err := f.Plan(); return err },
	}
}

// member is a role of a cluster of one server and one worker, or of none.
func member(t *testing.T, role rolemaker.Role, local, minimized bool) *fleet.Fleet {
	t.Helper()
	var rm rolemaker.RoleMaker = rolemaker.UserDefined{Role: role, WorkerNum: 1, ServerEndpoints: []string{"server:1"}}
	if local {
		rm = rolemaker.Local{}
	}
	f, err := fleet.New(t.Context(), rm, fleet.Options{Transport: transport.NewMemory()})
	law.Check(t, err)
	if minimized {
		minimize(t, f, trial.NewToy())
	}
	return f
}

func minimize(t *testing.T, f *fleet.Fleet, o *trial.Toy) {
	t.Helper()
	law.Check(t, trial.Minimize(f, o, optimizer.SGD{LR: 0.1}, strategy.Sync()))
}

// TestCallsOutOfOrder holds every early or misplaced call to an error that names the call that was missing.
func TestCallsOutOfOrder(t *testing.T) {
	t.Parallel()
	server, worker := rolemaker.Server, rolemaker.Worker
	tests := []struct {
		role      rolemaker.Role
		minimized bool
		calls     string
		want      error
		says      string
	}{
		{worker, false, "InitWorker StopWorker BarrierWorker SavePersistables SaveInferenceModel LoadModel Restore Plan Rows", fleet.ErrOrder, "Minimize"},
		{server, false, "InitServer RunServer Restore Plan", fleet.ErrOrder, "Minimize"},
		{worker, true, "StopWorker BarrierWorker SavePersistables SaveInferenceModel Rows", fleet.ErrOrder, "InitWorker"},
		{server, true, "RunServer", fleet.ErrOrder, "InitServer"},
		{worker, true, "InitServer RunServer", fleet.ErrRole, "InitWorker"},
		{worker, true, "LoadModel", fleet.ErrRole, "InitWorker"},
		{server, true, "InitWorker StopWorker BarrierWorker SavePersistables SaveInferenceModel Rows", fleet.ErrRole, "InitServer"},
		{server, false, "LoadModel", fleet.ErrRole, "InitServer"},
		{server, true, "LoadModel", fleet.ErrRole, "InitServer"},
	}
	all := calls(t.Context(), t.TempDir())
	for _, test := range tests {
		f := member(t, test.role, false, test.minimized)
		for name := range strings.FieldsSeq(test.calls) {
			err := all[name](f)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v, minimized %v: %s: got %v, want %v that names %s", f, test.minimized, name, err, test.want, test.says)
			}
		}
	}
}

// Promise: [G5] calls in any order, and twice, are answered or refused with a reason
// Also: TestCallsInAnyOrderEnd, TestSessionsKeepTheirOrder
func TestTwice(t *testing.T) {
	t.Parallel()
	f := member(t, rolemaker.Worker, true, true)
	if err := trial.Minimize(f, trial.NewToy(), optimizer.SGD{LR: 0.1}, strategy.Sync()); !errors.Is(err, fleet.ErrOrder) {
		t.Errorf("second Minimize: %v", err)
	}
	x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Sync(), To: 1, Ahead: true}
	x.After = func(ctx context.Context, f *fleet.Fleet, _ *trial.Toy) error {
		if err := f.InitWorker(ctx); !errors.Is(err, fleet.ErrOrder) {
			t.Errorf("second InitWorker: %v", err)
		}
		return f.StopWorker(ctx) // the training stops once more
	}
	x.On(t, trial.Cluster(1, 1))
}

// TestTrainingBeforeInitWorker opens a session too early.
func TestTrainingBeforeInitWorker(t *testing.T) {
	t.Parallel()
	o, f := trial.NewToy(), member(t, rolemaker.Worker, false, false)
	minimize(t, f, o)
	if err := o.Train(t.Context(), trial.Samples(2, 0), nil); !errors.Is(err, fleet.ErrOrder) || !strings.Contains(err.Error(), "InitWorker") {
		t.Errorf("got %v, want ErrOrder that names InitWorker", err)
	}
}

// TestInitIsForgotten: a program that never calls Init trains alone, but not as a process of a job.
func TestInitIsForgotten(t *testing.T) {
	// Serial: it sets variables of the environment, and the default fleet.
	fleet.Forget(t)
	if _, err := fleet.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Sync()); err != nil {
		t.Errorf("without a job: %v", err)
	}
	for name, value := range map[string]string{"TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:1", "PADDLE_TRAINERS_NUM": "1",
		"PADDLE_TRAINER_ID": "0"} {
		t.Setenv(name, value)
	}
	if _, err := fleet.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Sync()); !errors.Is(err, fleet.ErrOrder) || !strings.Contains(err.Error(), "call Init first") {
		t.Errorf("in a job: %v, want Init to be missed", err)
	}
	if _, err := fleet.Init(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Sync()); err != nil {
		t.Errorf("after Init: %v", err)
	}
}

func TestMinimizeRefuses(t *testing.T) {
	t.Parallel()
	f := member(t, rolemaker.Worker, true, false)
	if _, err := f.DistributedOptimizer(nil, strategy.Sync()); err == nil {
		t.Error("no rule was taken")
	}
	if _, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Strategy{Mode: "later"}); err == nil || !strings.Contains(err.Error(), "later") {
		t.Errorf("a mode that does not exist: %v", err)
	}
}

// TestMinimizeRefusesWhatIsNoLoss: every role says at once that a loss is no number, or trains nothing, and minimises another
// after it.
func TestMinimizeRefusesWhatIsNoLoss(t *testing.T) {
	t.Parallel()
	for role, f := range map[string]*fleet.Fleet{
		"server": member(t, rolemaker.Server, false, false), "worker": member(t, rolemaker.Worker, false, false), "alone": member(t, 0, true, false),
	} {
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Sync())
		law.Check(t, err)
		g := nn.NewGraph(1)
		pred := nn.Linear(g.Input("x", 3), 1, nn.LinearOptions{})
		for want, loss := range map[string]*nn.Node{
			"can't be minimised: a loss has shape [1], it has [N 1]: take its Mean": pred,
			"it depends on no parameter that can be trained":                        nn.Mean(g.Node("x")),
			"the loss is nil": nil,
		} {
			if err := opt.Minimize(loss); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", role, err, want)
			}
		}
		if err := opt.Minimize(nil); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s, no objective: %v", role, err)
		}
		if err := opt.Minimize(nn.Mean(pred)); err != nil {
			t.Errorf("%s, a loss after them: %v", role, err)
		}
	}
}

// TestAloneEverythingWorks runs the whole program of a worker with no servers.
func TestAloneEverythingWorks(t *testing.T) {
	t.Parallel()
	f, o, dir := member(t, 0, true, false), trial.NewToy(), t.TempDir()
	minimize(t, f, o)
	if !f.IsWorker() || !f.IsFirstWorker() || f.IsServer() || f.WorkerNum() != 1 || f.ServerNum() != 0 {
		t.Errorf("%v is not alone", f)
	}
	all := calls(t.Context(), dir)
	for _, name := range []string{"Plan", "InitWorker", "train", "BarrierWorker", "SavePersistables", "LoadModel", "SaveInferenceModel", "StopWorker", "StopWorker"} {
		var err error
		if name == "train" {
			err = o.Train(t.Context(), trial.Samples(4, 0), nil)
		} else {
			err = all[name](f)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"InitServer", "RunServer"} {
		if err := all[name](f); !errors.Is(err, fleet.ErrRole) {
			t.Errorf("%s: %v, want ErrRole", name, err)
		}
	}
}

// TestAloneWithCheckpoints: a process alone that has checkpoints to go on from trains between InitWorker, which finds
// them, and StopWorker, which saves the last. Else it would begin anew, and its checkpoints take the place of those.
func TestAloneWithCheckpoints(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.Recovery.Dir = t.TempDir()
	trial.Cluster(0, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := trial.NewToy()
		if err := trial.Minimize(f, o, optimizer.SGD{LR: 0.1}, s); err != nil {
			return err
		}
		step := func() error { return o.Train(ctx, trial.Samples(2, 0), nil) }
		refused := func(what string, err error, says string) {
			if !errors.Is(err, fleet.ErrOrder) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: got %v, want an error of order that says %q", what, err, says)
			}
		}
		refused("a step before InitWorker", step(), "fleet: training: call InitWorker first")
		refused("a checkpoint before InitWorker", f.Checkpoint(ctx), "fleet: Checkpoint: call InitWorker first")
		if err := errors.Join(f.InitWorker(ctx), step(), f.StopWorker(ctx)); err != nil {
			return err
		}
		refused("a step behind StopWorker", step(), "saved the last checkpoint")
		return errors.Join(o.Close(ctx), f.StopWorker(ctx))
	})
}
