package client

import (
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// BenchmarkAsyncStep is what a step of async costs the process, worker and server together, when there is next to nothing to
// train: a weight, and a row that is looked ahead for, over loopback TCP.
func BenchmarkAsyncStep(b *testing.B) {
	for name, s := range map[string]strategy.Strategy{"default": strategy.Async(), "merging": {MaxMergeVarNum: 8, SendQueueSize: 4},
		"three threads": {ThreadPoolSize: 3, SendQueueSize: 4}} {
		b.Run(name, func(b *testing.B) {
			w := &optimizer.Param{Name: "w", Shape: []int{1}, W: make([]float32, 1), G: []float32{1e-3}}
			p := &optimizer.Param{Name: "rows", Shape: []int{1000, 1}, Embedding: true}
			c := loopback(b, 1, s, optimizer.SGD{LR: 0.01}, w, p)[0]
			th, err := c.Open([]*optimizer.Param{w, p})
			must(b, err)
			ids := []uint64{7}
			st := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{{Param: p, IDs: ids, W: make([]float32, 1), G: []float32{1e-3}, Next: ids}}}
			b.ReportAllocs()
			before := cpuTime()
			for b.Loop() {
				must(b, th.Begin(b.Context(), st))
				must(b, th.End(b.Context(), st))
			}
			b.ReportMetric((cpuTime()-before).Seconds()*1e6/float64(b.N), "cpu-us/op")
			must(b, th.Close(b.Context()))
		})
	}
}
