package fleet

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

var standard atomic.Pointer[Fleet]

// Init makes a fleet with default options for the role that rm gives this process, nil to look at the environment, and makes
// it the default one. Calling it again replaces the default.
func Init(rm rolemaker.RoleMaker) (*Fleet, error) {
	return InitContext(context.Background(), rm)
}

// InitContext is [Init] that gives up when ctx ends, as [NewContext] does.
func InitContext(ctx context.Context, rm rolemaker.RoleMaker) (*Fleet, error) {
	f, err := NewContext(ctx, rm, Options{})
	if err != nil {
		return nil, err
	}
	standard.Store(f)
	return f, nil
}

// Default is the fleet that Init or InitContext made. Before Init it is this process alone, so that a program that never calls Init still
// trains; where the environment names a job, it refuses to, since every process of the job would train by itself.
func Default() *Fleet {
	if f := standard.Load(); f != nil {
		return f
	}
	f, err := New(rolemaker.Local{}, Options{})
	if err != nil {
		panic("fleet: a local role is always valid: " + err.Error())
	}
	f.assumed = true
	standard.CompareAndSwap(nil, f)
	return standard.Load()
}

// checkInit refuses to take a process of a job for one that is alone because Init was forgotten.
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

// Restore calls [Fleet.Restore] on the default fleet.
func Restore(ctx context.Context, dir string, o RestoreOptions) error {
	return Default().Restore(ctx, dir, o)
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

// SaveModel calls [Fleet.SaveModel] on the default fleet.
func SaveModel(ctx context.Context, dir string, o SaveOptions) (Saved, error) {
	return Default().SaveModel(ctx, dir, o)
}

// Shrink calls [Fleet.Shrink] on the default fleet.
func Shrink(ctx context.Context, o ShrinkOptions) (map[string]Shrunk, error) {
	return Default().Shrink(ctx, o)
}

// SetRate calls [Fleet.SetRate] on the default fleet.
func SetRate(ctx context.Context, rate float64) error { return Default().SetRate(ctx, rate) }

// SetRateFactor calls [Fleet.SetRateFactor] on the default fleet.
func SetRateFactor(ctx context.Context, factor float64) error {
	return Default().SetRateFactor(ctx, factor)
}

// RateFactor calls [Fleet.RateFactor] on the default fleet.
func RateFactor(ctx context.Context) (float64, error) { return Default().RateFactor(ctx) }

// LoadModel calls [Fleet.LoadModel] on the default fleet.
func LoadModel(ctx context.Context, dir string, params ...string) error {
	return Default().LoadModel(ctx, dir, params...)
}

// Rows calls [Fleet.Rows] on the default fleet.
func Rows(ctx context.Context, name string) iter.Seq2[Row, error] { return Default().Rows(ctx, name) }

// ExportText calls [Fleet.ExportText] on the default fleet.
func ExportText(ctx context.Context, name string, w io.Writer) error {
	return Default().ExportText(ctx, name, w)
}

// Explain calls [Fleet.Explain] on the default fleet.
func Explain(ids map[string]int) (*Explanation, error) { return Default().Explain(ids) }

// IsWorker calls [Fleet.IsWorker] on the default fleet.
func IsWorker() bool { return Default().IsWorker() }

// IsServer calls [Fleet.IsServer] on the default fleet.
func IsServer() bool { return Default().IsServer() }

// IsFirstWorker calls [Fleet.IsFirstWorker] on the default fleet.
func IsFirstWorker() bool { return Default().IsFirstWorker() }

// IsLocal calls [Fleet.IsLocal] on the default fleet.
func IsLocal() bool { return Default().IsLocal() }

// IsCollective calls [Fleet.IsCollective] on the default fleet.
func IsCollective() bool { return Default().IsCollective() }

// WorkerIndex calls [Fleet.WorkerIndex] on the default fleet.
func WorkerIndex() int { return Default().WorkerIndex() }

// WorkerNum calls [Fleet.WorkerNum] on the default fleet.
func WorkerNum() int { return Default().WorkerNum() }

// ServerIndex calls [Fleet.ServerIndex] on the default fleet.
func ServerIndex() int { return Default().ServerIndex() }

// ServerNum calls [Fleet.ServerNum] on the default fleet.
func ServerNum() int { return Default().ServerNum() }

// ServerEndpoints calls [Fleet.ServerEndpoints] on the default fleet.
func ServerEndpoints() []string { return Default().ServerEndpoints() }

// WorkerEndpoints calls [Fleet.WorkerEndpoints] on the default fleet.
func WorkerEndpoints() []string { return Default().WorkerEndpoints() }
