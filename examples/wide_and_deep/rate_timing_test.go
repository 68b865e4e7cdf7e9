package main

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// cardinalities are those of Criteo's 26 categories.
var cardinalities = []float64{1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10,
	5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572}

// generated is data with the shape and the skew of Criteo's, made up: 13 numbers, 26 ids below 1,000,001, a random label.
func generated(n int) *dataset.Dataset {
	r := rand.New(rand.NewPCG(1, 1))
	numbers, ids, label := make([]float32, 13*n), make([]int64, 26*n), make([]float32, n)
	for i := range numbers {
		numbers[i] = float32(math.Log1p(math.Floor(math.Exp(1 + 1.4*r.NormFloat64()))))
	}
	for i := range ids {
		field := i % 26
		rank := uint64(math.Pow(cardinalities[field], r.Float64()))
		ids[i] = int64((rank*2654435761 + uint64(field)*40503*7919) % 1_000_001)
	}
	for i := range label {
		label[i] = float32(r.IntN(4) / 3)
	}
	return dataset.FromColumns(
		dataset.FloatValues("dense_input", numbers, 13), dataset.IntValues("C", ids, 26), dataset.FloatValues("label", label, 1))
}

// BenchmarkRate is examples/s of the wide & deep of the recommendation benchmarks (26 ids of 1,000,001 × 9, 512-256-128-32,
// lazy Adam, batch 512) on generated data: alone, and on clusters in one process over loopback TCP, in every mode. Geo trains by plain
// gradient descent, beside two workers that train by it alone, each on its half; in their fourth epoch, since the first of so few
// rows has no exchange in it.
func BenchmarkRate(b *testing.B) {
	data, sgd := generated(100_000), optimizer.SGD{LR: 0.1}
	run := func(name string, rates func(b *testing.B) float64) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(rates(b), "examples/s")
			}
		})
	}
	job := func(servers, workers int, rule optimizer.Rule, s strategy.Strategy) func(*testing.B) float64 {
		return func(b *testing.B) float64 { return rate(b, data, servers, workers, 1, rule, s) }
	}
	adam := optimizer.Adam{LR: 1e-3}
	run("local", job(0, 1, adam, strategy.Async()))
	run("1x1/async", job(1, 1, adam, strategy.Async()))
	for _, mode := range strategy.Modes() {
		if mode != strategy.ModeGeo {
			run("2x2/"+string(mode), job(2, 2, adam, strategy.Strategy{Mode: mode}))
		}
	}
	run("two alone/sgd", func(b *testing.B) float64 {
		var each [2]float64
		var wg sync.WaitGroup
		for i := range each {
			wg.Go(func() { each[i] = rate(b, data.Shard(i, 2), 0, 1, 4, sgd, strategy.Async()) })
		}
		wg.Wait()
		return each[0] + each[1]
	})
	run("2x2/geo/sgd", func(b *testing.B) float64 { return rate(b, data, 2, 2, 4, sgd, strategy.Geo(100)) })
	run("2x2/async/sgd", job(2, 2, sgd, strategy.Async()))
}

// rate trains and returns the examples a second of all workers in the last epoch.
func rate(b *testing.B, data *dataset.Dataset, servers, workers, epochs int, rule optimizer.Rule, s strategy.Strategy) (all float64) {
	cfg := config{layers: []int{512, 256, 128, 32}, height: 1_000_001, dim: 9, initRange: 0.01}
	var mu sync.Mutex
	cluster := fleettest.Cluster{Servers: servers, Workers: workers, Endpoints: porttest.Free(b, servers),
		Options: fleet.Options{Transport: new(transport.FastHTTP)}}
	errs := cluster.Errors(b, func(ctx context.Context, f *fleet.Fleet) error {
		net := newModel(&cfg, 26)
		res, err := train.Job{Options: train.Options{Batch: 512, Epochs: epochs, Seed: 1}, Loss: net.loss, Rule: rule, Strategy: &s,
			Metrics: []*nn.Node{net.score}, Stdout: io.Discard,
			Data: func(context.Context) (_, _ *dataset.Dataset, err error) { return data, data.Take(512), nil }}.Run(ctx, f)
		mu.Lock()
		defer mu.Unlock()
		all += res.Epoch.Rate()
		return err
	})
	for role, err := range errs {
		if err != nil {
			b.Errorf("%s: %v", role, err)
		}
	}
	return all
}
