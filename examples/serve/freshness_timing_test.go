package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"gorgonia.org/tensor"
)

var (
	freshRows   = flag.Int("fresh_rows", 1_000_000, "rows of the model of BenchmarkFreshness")
	freshRate   = flag.Int("fresh_rate", 50_000, "rows that it pushes a second")
	freshPeriod = flag.Duration("fresh_period", 10*time.Second, "how often it saves a delta")
)

// steps knows when each step of a job was acknowledged.
type steps struct {
	mu sync.Mutex
	at []time.Time
}

func (s *steps) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Now())
}

// ages are how long ago the steps from number lo on, up to hi, were acknowledged.
func (s *steps) ages(lo, hi int) (all []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.at[lo:hi] {
		all = append(all, time.Since(at).Seconds())
	}
	return all
}

// BenchmarkFreshness: how old what a push has changed is when a service scores with it, where a job of one server and one worker saves a delta
// every so often, as often as the benchmark goes round, and the service looks for it ten times a second.
//
//	go test -run - -bench Freshness -benchtime 6x ./examples/serve
//
// One embedding counts the steps, so that its score says which steps are served.
func BenchmarkFreshness(b *testing.B) {
	const width, every = 100, 100 * time.Millisecond
	dir, batch := b.TempDir(), max(1, *freshRate/10/width)
	var done steps
	var ages, reloads []float64
	fleettest.Run(b, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		clock := nn.Embedding(g.IDs("zero", 1), nn.EmbeddingOptions{Name: "clock", Dim: 1, Init: optimizer.Constant{}})
		rows := nn.Embedding(g.IDs("ids", width), nn.EmbeddingOptions{Name: "rows", Dim: 8})
		loss := nn.Add(nn.Mean(clock), nn.Mean(rows))
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Sync())
		if err == nil {
			err = opt.Minimize(loss)
		}
		if err != nil {
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
		exe, r, next := nn.NewExecutor(g), rand.New(rand.NewPCG(1, 2)), 0
		train := func(first bool) error {
			ids := make([]int64, batch*width)
			for i := range ids {
				if ids[i] = r.Int64N(int64(*freshRows)); first {
					ids[i], next = int64(next), next+1
				}
			}
			feeds := map[string]*tensor.Dense{
				"zero": tensor.New(tensor.WithShape(batch, 1), tensor.WithBacking(make([]int64, batch))),
				"ids":  tensor.New(tensor.WithShape(batch, width), tensor.WithBacking(ids)),
			}
			_, err := exe.Train(ctx, feeds, loss)
			done.add()
			return err
		}
		model := nn.Inference(clock.Named("steps"), rows)
		save := func(name string, mode fleet.SaveMode) error {
			_, err := f.SaveModel(ctx, filepath.Join(dir, name), fleet.SaveOptions{Mode: mode, Model: model})
			return err
		}
		for next < *freshRows {
			if err := train(true); err != nil {
				return err
			}
		}
		if err := save("base", fleet.SaveBase); err != nil {
			return err
		}
		before := len(done.at)
		follow, end := context.WithCancel(ctx)
		defer end()
		var service sync.WaitGroup
		served := make(chan int, b.N+1) // how many steps, with each delta
		service.Go(func() { ages, reloads = serveFresh(b, follow, dir, &done, served) })
		tick := time.NewTicker(every)
		defer tick.Stop()
		b.ResetTimer()
		began := time.Now()
		for n := range b.N {
			for deadline := began.Add(time.Duration(n+1) * *freshPeriod); time.Now().Before(deadline); <-tick.C {
				if err := train(false); err != nil {
					return err
				}
			}
			if err := save(fmt.Sprintf("deltas/%d", n), fleet.SaveDelta); err != nil {
				return err
			}
		}
		b.ReportMetric(float64((len(done.at)-before)*batch*width)/time.Since(began).Seconds(), "rows/s")
		for n := 0; n < len(done.at); {
			select {
			case n = <-served:
			case <-time.After(*freshPeriod + time.Minute):
				return fmt.Errorf("%d steps of %d are served", n, len(done.at))
			}
		}
		end()
		service.Wait()
		return f.StopWorker(ctx)
	})
	slices.Sort(ages)
	if len(ages) == 0 {
		b.Fatal("nothing was served")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ages[len(ages)/2], "s-p50")
	b.ReportMetric(ages[len(ages)*99/100], "s-p99")
	b.ReportMetric(slices.Max(reloads), "s-reload-max")
}

// serveFresh takes deltas up until ctx ends, and says how old steps were when they were served first, and how long it took to take each delta up.
func serveFresh(b *testing.B, ctx context.Context, dir string, done *steps,
	served chan<- int) (ages, reloads []float64) {
	s, err := serve.OpenScorer(filepath.Join(dir, "base"), serve.ScorerOptions{Deltas: filepath.Join(dir, "deltas"), Outputs: []string{"steps"}})
	if err != nil {
		b.Error(err)
		return nil, nil
	}
	defer s.Close()
	feeds := map[string]*tensor.Dense{"zero": tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]int64{0}))}
	steps := func() int {
		out, err := s.Score(ctx, feeds)
		if err != nil {
			return -1
		}
		return int(math.Round(float64(-out.Values[0][0])))
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for before := steps(); ; {
		select {
		case <-ctx.Done():
			return ages, reloads
		case <-tick.C:
		}
		began := time.Now()
		changed, err := s.Reload()
		if err != nil {
			b.Log(err) // it is being written
		}
		if !changed {
			continue
		}
		reloads = append(reloads, time.Since(began).Seconds())
		now := steps()
		ages = append(ages, done.ages(before, now)...)
		served <- now
		before = now
	}
}
