package collective_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// tensors are a rank's, with values that sum differently in another order.
func tensors(rank int, sizes []int) [][]float32 {
	rng := rand.New(rand.NewPCG(uint64(rank), 7))
	all := make([][]float32, len(sizes))
	for i, n := range sizes {
		all[i] = make([]float32, n)
		for j := range all[i] {
			all[i][j] = float32(rng.NormFloat64()) * float32(uint(1)<<rng.UintN(20))
		}
	}
	return all
}

// folded is what a reduction must give: the dumb twin, one element at a time in the order of ranks.
func folded(ranks int, sizes []int, f func(acc, x float32, rank int) float32) [][]float32 {
	sum := make([][]float32, len(sizes))
	for rank := range ranks {
		for i, x := range tensors(rank, sizes) {
			if rank == 0 {
				sum[i] = make([]float32, len(x))
			}
			for j, v := range x {
				sum[i][j] = f(sum[i][j], v, rank)
			}
		}
	}
	return sum
}

func summed(ranks int, sizes []int) [][]float32 {
	return folded(ranks, sizes, func(acc, x float32, rank int) float32 {
		if rank == 0 {
			return x
		}
		return acc + x
	})
}

func same(t *testing.T, what string, want, got [][]float32) {
	t.Helper()
	for i := range want {
		if !slices.Equal(want[i], got[i]) {
			at := 0
			for at < len(want[i]) && want[i][at] == got[i][at] {
				at++
			}
			t.Errorf("%s: tensor %d differs at %d: %v, want %v", what, i, at, got[i][at], want[i][at])
			return
		}
	}
}

func TestAllReduceIsAFoldInTheOrderOfRanks(t *testing.T) {
	law.Slow(t)
	for name, network := range networks() {
		for _, ranks := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, ranks), func(t *testing.T) {
				sizes := []int{1000, 1, 0, 70_000, 17}
				c := network(t, ranks)
				c.Chunk = 4096
				mustRun(t, c, func(ctx context.Context, g *collective.Group) error {
					x := tensors(g.Rank(), sizes)
					err := collective.AllReduce(ctx, g, collective.Sum, x...)
					same(t, "sum", summed(ranks, sizes), x)
					return err
				})
			})
		}
	}
}

// TestAnyCut: the result does not depend on chunks, buckets, windows and the shapes of tensors.
func TestAnyCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 300), 0, 5).Draw(rt, "sizes")
		ranks := rapid.IntRange(1, 5).Draw(rt, "ranks")
		c := onMemory(t, ranks)
		c.Chunk = rapid.IntRange(1, 600).Draw(rt, "chunk")
		c.Bucket = rapid.IntRange(100, 3000).Draw(rt, "bucket")
		c.Window = rapid.IntRange(1, 4).Draw(rt, "window")
		want := summed(ranks, sizes)
		mustRun(t, c, func(ctx context.Context, g *collective.Group) error {
			x := tensors(g.Rank(), sizes)
			err := collective.AllReduce(ctx, g, collective.Sum, x...)
			same(t, "sum", want, x)
			return err
		})
	})
}

func TestOpsAndElements(t *testing.T) {
	mustRun(t, onMemory(t, 3), func(ctx context.Context, g *collective.Group) error {
		r := g.Rank()
		counts := []int64{int64(r), 1 << 60, -5}
		if err := collective.AllReduce(ctx, g, collective.Sum, counts); err != nil {
			return err
		}
		if want := []int64{3, 3 << 60, -15}; !slices.Equal(counts, want) {
			t.Errorf("sum %v, want %v", counts, want)
		}
		largest, smallest := []float64{float64(r), -1e300}, []float32{float32(-r), 7}
		if err := collective.AllReduce(ctx, g, collective.Max, largest); err != nil {
			return err
		}
		if err := collective.AllReduce(ctx, g, collective.Min, smallest); err != nil {
			return err
		}
		if !slices.Equal(largest, []float64{2, -1e300}) || !slices.Equal(smallest, []float32{-2, 7}) {
			t.Errorf("max %v, min %v", largest, smallest)
		}
		brought := []float32{float32(r), float32(10 * r)}
		if err := collective.Broadcast(ctx, g, 2, brought); err != nil {
			return err
		}
		if !slices.Equal(brought, []float32{2, 20}) {
			t.Errorf("rank %d was brought %v", r, brought)
		}
		return nil
	})
}

// TestMeanOfTheJoinedBatch: weights of 3, 0 and 5 samples; what the rank of weight 0 holds does not count.
func TestMeanOfTheJoinedBatch(t *testing.T) {
	weights := []uint32{3, 0, 5}
	sizes := []int{500}
	want := folded(3, sizes, func(acc, x float32, rank int) float32 {
		f := float32(float64(weights[rank]) / 8)
		switch rank {
		case 0:
			return f * x
		case 1:
			return acc
		}
		scaled := f * x
		return acc + scaled
	})
	mustRun(t, onMemory(t, 3), func(ctx context.Context, g *collective.Group) error {
		x := tensors(g.Rank(), sizes)
		at := progress.Position{Threads: 1, Epoch: 2, Samples: 1<<40 + uint64(g.Rank())}
		m, err := g.Mean(ctx, collective.Part{Weight: weights[g.Rank()], Ended: g.Rank() == 1, News: g.Rank() == 2, At: at}, x...)
		if err != nil {
			return err
		}
		if m.Weight != 8 || m.Ended != 1 || !m.News || len(m.At) != 3 || m.At[g.Rank()] != at || m.At[2].Samples != 1<<40+2 {
			t.Errorf("members %+v", m)
		}
		same(t, "mean", want, x)
		m, err = g.Mean(ctx, collective.Part{Ended: true}, x...)
		if m.Weight != 0 || m.Ended != 3 || m.News || slices.ContainsFunc(x[0], func(v float32) bool { return v != 0 }) {
			t.Errorf("the mean of nothing: %+v, %v", m, x[0][:3])
		}
		return err
	})
}

func TestAllGather(t *testing.T) {
	law.Slow(t)
	for name, network := range networks() {
		t.Run(name, func(t *testing.T) {
			mustRun(t, network(t, 3), func(ctx context.Context, g *collective.Group) error {
				for _, unit := range []int{0, 1, 9 << 20} { // 18 MiB of rank 2 take two messages
					own := make([]byte, g.Rank()*unit)
					for i := range own {
						own[i] = byte(i >> 8)
					}
					all, err := g.AllGather(ctx, own)
					if err != nil {
						return err
					}
					for r, got := range all {
						if len(got) != r*unit || len(got) > 0 && got[len(got)-1] != byte((len(got)-1)>>8) {
							t.Errorf("%d bytes from rank %d, want %d", len(got), r, r*unit)
						}
					}
				}
				return nil
			})
		})
	}
}

// TestBadNetwork: sums are exact though calls, answers and connections are lost, and messages come twice, late and out of order.
func TestBadNetwork(t *testing.T) {
	const ranks, steps = 3, 30
	sizes := []int{3000, 5}
	want := summed(ranks, sizes)
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			c := onMemory(t, ranks)
			faulty := transporttest.NewFaulty(transport.NewMemory(), seed, transporttest.Faults{LoseRequest: 0.05, LoseAnswer: 0.05,
				Duplicate: 0.05, Refuse: 0.05, Reorder: 0.05, Late: 0.05})
			c.Transport, c.Chunk = faulty, 1000
			mustRun(t, c, func(ctx context.Context, g *collective.Group) error {
				for range steps {
					x := tensors(g.Rank(), sizes)
					if err := collective.AllReduce(ctx, g, collective.Sum, x...); err != nil {
						return err
					}
					same(t, "sum", want, x)
					if all, err := g.AllGather(ctx, []byte{byte(g.Rank())}); err != nil || len(all) != ranks || all[2][0] != 2 {
						return fmt.Errorf("gathered %v: %w", all, err)
					}
				}
				return nil
			})
			if n := faulty.Counts(); n["LoseAnswer"] == 0 || n["Duplicate"] == 0 || n["LoseRequest"] == 0 {
				t.Errorf("faults that never happened: %v", n)
			}
		})
	}
}

// TestOneAtATime: calls from several goroutines wait for each other.
func TestOneAtATime(t *testing.T) {
	mustRun(t, onMemory(t, 2), func(ctx context.Context, g *collective.Group) error {
		var calls sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			calls.Go(func() {
				x := []int64{1}
				errs[i] = collective.AllReduce(ctx, g, collective.Sum, x)
				if x[0] != 2 {
					t.Errorf("sum %d", x[0])
				}
			})
		}
		calls.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	})
}
