package paddle

import (
	"context"
	"fmt"
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
)

// UtilBase is Fleet's util: the collectives of a fleet, and helpers. [Util] gives the default fleet's.
type UtilBase struct{ Fleet *fleet.Fleet }

// Util is the util of the default fleet.
func Util() UtilBase { return UtilBase{fleet.Default()} }

// AllReduce is [fleet.Fleet.AllReduce].
func (u UtilBase) AllReduce(ctx context.Context, x []float64, op fleet.ReduceOp) ([]float64, error) {
	return u.Fleet.AllReduce(ctx, x, op)
}

// AllGather is [fleet.Fleet.AllGather].
func (u UtilBase) AllGather(ctx context.Context, x []float64) ([][]float64, error) {
	return u.Fleet.AllGather(ctx, x)
}

// Barrier is [fleet.Fleet.BarrierWorker].
func (u UtilBase) Barrier(ctx context.Context) error { return u.Fleet.BarrierWorker(ctx) }

// GetFileShard is this worker's share of files, by [dataset.FileShard]. Servers read no files: for them it is an error
// that wraps [fleet.ErrRole].
func (u UtilBase) GetFileShard(files []string) ([]string, error) {
	if !u.Fleet.IsWorker() {
		return nil, fmt.Errorf("fleet: GetFileShard: this is %v, and workers read files: %w", u.Fleet, fleet.ErrRole)
	}
	return dataset.FileShard(files, u.Fleet.WorkerIndex(), u.Fleet.WorkerNum())
}

// PrintOnRank prints message on standard output if this is worker rank.
func (u UtilBase) PrintOnRank(message any, rank int) {
	if u.Fleet.IsWorker() && u.Fleet.WorkerIndex() == rank {
		fmt.Fprintln(os.Stdout, message)
	}
}
