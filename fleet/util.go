package fleet

import (
	"context"
	"fmt"
	"os"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/solo"
)

// UtilBase are the collectives and helpers that programs use between steps; [Fleet.Util] gives them.
//
// A collective ends the epoch of workers in sync mode, as BarrierWorker does, and returns when every worker has made the same call
// as often as this one, or has left the job. With servers they meet at server 0, in a collective job among themselves; alone there
// is nobody else. Every worker gets the same bits, or, where workers make different calls (another op, type or number of values), an error
// that names both. A worker that was started again alone makes its collectives from the first on, and has the answers to those that the
// others have behind them, or an error where these were large or are long past; [UtilBase.CatchUp] has it go on with the others' next.
type UtilBase struct{ f *Fleet }

// Util is this fleet's collectives and helpers.
func (f *Fleet) Util() UtilBase { return UtilBase{f} }

// Util calls [Fleet.Util] on the default fleet.
func Util() UtilBase { return Default().Util() }

// ReduceOp is what an all-reduce makes of the workers' values.
type ReduceOp string

const (
	// Sum adds, in the order of workers.
	Sum ReduceOp = "sum"
	// Max takes the largest; NaN wins.
	Max ReduceOp = "max"
	// Min takes the smallest; NaN wins.
	Min ReduceOp = "min"
)

var reduceOps = map[ReduceOp]collective.Op{Sum: collective.Sum, Max: collective.Max, Min: collective.Min}

// AllReduce returns what op makes of the workers' x, element by element. x must be equally long on all workers, and is not changed.
func (u UtilBase) AllReduce(ctx context.Context, x []float64, op ReduceOp) ([]float64, error) {
	return allReduce(ctx, u.f, "AllReduce", x, op, floatBits)
}

// AllReduceInts is AllReduce for whole numbers; sums are exact.
func (u UtilBase) AllReduceInts(ctx context.Context, x []int64, op ReduceOp) ([]int64, error) {
	return allReduce(ctx, u.f, "AllReduceInts", x, op, intBits)
}

// AllGather returns every worker's x by worker index; the lengths may differ. A worker that has left the job has nil, one that
// gave nothing an empty slice.
func (u UtilBase) AllGather(ctx context.Context, x []float64) ([][]float64, error) {
	data, err := u.f.gather(ctx, "AllGather", floatBits.pack(x))
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(data))
	for w, b := range data {
		if b != nil {
			all[w] = floatBits.unpack(b)
		}
	}
	return all, nil
}

// AllGatherBytes is AllGather for bytes, such as rows that workers exchange. With servers, server 0 holds what all give and sends it to
// each: give pieces of a megabyte or so.
func (u UtilBase) AllGatherBytes(ctx context.Context, data []byte) ([][]byte, error) {
	if data == nil {
		data = []byte{}
	}
	return u.f.gather(ctx, "AllGatherBytes", data)
}

// AllGatherBytes is [UtilBase.AllGatherBytes]: a fleet is what the GlobalShuffle of package dataset asks for.
func (f *Fleet) AllGatherBytes(ctx context.Context, data []byte) ([][]byte, error) {
	return f.Util().AllGatherBytes(ctx, data)
}

// Barrier is [Fleet.BarrierWorker].
func (u UtilBase) Barrier(ctx context.Context) error { return u.f.BarrierWorker(ctx) }

// GetFileShard is this worker's share of files: contiguous, and one longer on the first len(files) mod workers. Five files for two
// workers are three and two.
func (u UtilBase) GetFileShard(files []string) ([]string, error) {
	if !u.f.IsWorker() {
		return nil, fmt.Errorf("fleet: GetFileShard: this is %v, and workers read files: %w", u.f, ErrRole)
	}
	n, i := u.f.WorkerNum(), u.f.WorkerIndex()
	each, more := len(files)/n, len(files)%n
	from := i*each + min(i, more)
	to := from + each
	if i < more {
		to++
	}
	return append([]string{}, files[from:to]...), nil
}

// PrintOnRank prints message on standard output if this is worker rank.
func (u UtilBase) PrintOnRank(message any, rank int) {
	if u.f.WorkerIndex() == rank {
		fmt.Fprintln(os.Stdout, message)
	}
}

// meeting is what this worker meets the others by between steps. One that is alone meets nobody, before Minimize too.
func (f *Fleet) meeting(ctx context.Context, call string) (backend.Trainer, error) {
	f.mu.Lock()
	early := f.job == nil && f.IsLocal()
	f.mu.Unlock()
	if early {
		return new(solo.Trainer), nil
	}
	return f.between(ctx, call)
}

// CatchUp has a worker that was started again alone go on with the collectives of the others, and not from the first: those that its lives
// before have made, or the others without it, are left out, and it returns how many. A program that begins where the job is (see
// [Fleet.Position]) calls it before its first collective; which one the others are at, what they bring has to tell. In a job that begins
// it returns 0 and does nothing.
func (u UtilBase) CatchUp() int {
	j, err := u.f.workerCall("CatchUp")
	if err != nil {
		return 0
	}
	if late, is := j.backend.(interface{ CatchUp() int }); is {
		return late.CatchUp()
	}
	return 0
}

// Stopped are the workers that had stopped as they should, by StopWorker, when this worker's last collective ended; others that gave
// nothing have ended early. In a collective job all stop together.
func (u UtilBase) Stopped() []int {
	j, err := u.f.workerCall("Stopped")
	if err != nil {
		return nil
	}
	if knows, is := j.backend.(interface{ Stopped() []int }); is {
		return knows.Stopped()
	}
	return nil
}

// gather gives every worker what each gave, by index; nil stands for a worker that is gone.
func (f *Fleet) gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	b, err := f.meeting(ctx, call)
	if err != nil {
		return nil, err
	}
	gather := b.Gather
	if f.computesApart() {
		gather = func(ctx context.Context, call string, data []byte) ([][]byte, error) {
			return f.statistics.gather(ctx, b, call, data)
		}
	}
	all, err := gather(ctx, call, data)
	return all, named(call, err)
}
