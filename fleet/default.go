package fleet

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

var standard atomic.Pointer[Fleet]

// Init makes a fleet with default options for the role that rm gives this process, and makes it the default fleet. A
// nil rm reads the environment. Calling Init again replaces the default. [New] also takes a context and options;
// Options.Default does the same as Init.
func Init(rm rolemaker.RoleMaker) (*Fleet, error) {
	return New(context.Background(), rm, Options{Default: true})
}

// Default returns the fleet that Init made. Before Init it is a fleet of this process alone, so that a program that
// never calls Init still trains. If the environment names a job, that fleet refuses to train, since every process of
// the job would train by itself.
func Default() *Fleet {
	if f := standard.Load(); f != nil {
		return f
	}
	f, err := New(context.Background(), rolemaker.Local{}, Options{})
	if err != nil {
		panic("fleet: a local role is always valid: " + err.Error())
	}
	f.assumed = true
	standard.CompareAndSwap(nil, f)
	return standard.Load()
}

// checkInit returns an error if a process of a job would train alone because Init was not called.
func (f *Fleet) checkInit() error {
	if !f.assumed {
		return nil
	}
	id, err := rolemaker.FromEnvironment(nil).Identity()
	if err == nil && id.Local() {
		return nil
	}
	who := id.String()
	if err != nil {
		who = err.Error()
	}
	return fmt.Errorf("fleet: DistributedOptimizer: call Init first: this process would train alone, "+
		"and its environment is of a job (%s): %w", who, ErrOrder)
}

// DistributedOptimizer calls [Fleet.DistributedOptimizer] on the default fleet.
func DistributedOptimizer(rule optimizer.Rule, s strategy.Strategy) (*Optimizer, error) {
	return Default().DistributedOptimizer(rule, s)
}

// InitServer calls [Fleet.InitServer] on the default fleet.
func InitServer(ctx context.Context, dir string, params ...string) error {
	return Default().InitServer(ctx, dir, params...)
}

// RunServer calls [Fleet.RunServer] on the default fleet.
func RunServer(ctx context.Context) error { return Default().RunServer(ctx) }

// InitWorker calls [Fleet.InitWorker] on the default fleet.
func InitWorker(ctx context.Context) error { return Default().InitWorker(ctx) }

// StopWorker calls [Fleet.StopWorker] on the default fleet.
func StopWorker(ctx context.Context) error { return Default().StopWorker(ctx) }

// BarrierWorker calls [Fleet.BarrierWorker] on the default fleet.
func BarrierWorker(ctx context.Context) error { return Default().BarrierWorker(ctx) }

// SavePersistables calls [Fleet.SavePersistables] on the default fleet.
func SavePersistables(ctx context.Context, dir string, params ...string) error {
	return Default().SavePersistables(ctx, dir, params...)
}

// SaveInferenceModel calls [Fleet.SaveInferenceModel] on the default fleet.
func SaveInferenceModel(ctx context.Context, dir string, m optimizer.Model) error {
	return Default().SaveInferenceModel(ctx, dir, m)
}

// IsWorker calls [Fleet.IsWorker] on the default fleet.
func IsWorker() bool { return Default().IsWorker() }

// IsServer calls [Fleet.IsServer] on the default fleet.
func IsServer() bool { return Default().IsServer() }

// IsFirstWorker calls [Fleet.IsFirstWorker] on the default fleet.
func IsFirstWorker() bool { return Default().IsFirstWorker() }

// WorkerIndex calls [Fleet.WorkerIndex] on the default fleet.
func WorkerIndex() int { return Default().WorkerIndex() }

// WorkerNum calls [Fleet.WorkerNum] on the default fleet.
func WorkerNum() int { return Default().WorkerNum() }

// ServerNum calls [Fleet.ServerNum] on the default fleet.
func ServerNum() int { return Default().ServerNum() }
