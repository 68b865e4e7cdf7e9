package fleet_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// BenchmarkBesideAReader runs a job of two servers and two workers as processes, in turn without a reader and with one that reads from each
// server as many rows as FLEET_READ_ROWS lets it. cpu-ratio is the processor time of the job's four processes with the reader over that
// without, by pairs, and ± its standard error; us/row what a row that was read cost them; rows/s and job-s are of the runs with the reader.
func BenchmarkBesideAReader(b *testing.B) {
	const token = "for readers alone"
	b.Setenv("FLEET_READ_TOKEN", token)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		b.Run(string(mode), func(b *testing.B) {
			text, err := json.Marshal(traffic{Mode: mode, IDs: loopIDs, Height: loopHeight, Dim: loopDim, Steps: 1500})
			if err != nil {
				b.Fatal(err)
			}
			b.Setenv(trafficVariable, string(text))
			var ratios []float64
			var rows int64
			var extra, took, with time.Duration
			for i := range b.N {
				var cpu [2]time.Duration
				for k := range 2 {
					k = (k + i) % 2 // each is first as often as the other
					began, n := time.Now(), int64(0)
					cpu[k], n = cpuBeside(b, k == 1, token)
					if k == 1 {
						rows, took, with = rows+n, took+time.Since(began), with+cpu[k]
					}
				}
				ratios, extra = append(ratios, float64(cpu[1])/float64(cpu[0])), extra+cpu[1]-cpu[0]
			}
			mean, spread := 0.0, 0.0
			for _, r := range ratios {
				mean += r / float64(len(ratios))
			}
			for _, r := range ratios {
				spread += (r - mean) * (r - mean)
			}
			b.ReportMetric(mean, "cpu-ratio")
			b.ReportMetric(math.Sqrt(spread/float64(max(1, len(ratios)-1)*len(ratios))), "±")
			b.ReportMetric(micros(extra)/float64(rows), "us/row")
			b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
			b.ReportMetric(took.Seconds()/float64(b.N), "job-s")
			b.ReportMetric(with.Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuBeside is the processor time of a job's processes, and how many rows were read meanwhile.
func cpuBeside(b *testing.B, read bool, token string) (cpu time.Duration, rows int64) {
	endpoints := porttest.Free(b, 2)
	ctx, stop := context.WithCancel(b.Context())
	var reading sync.WaitGroup
	var n atomic.Int64
	if read {
		reading.Go(func() {
			r, err := reader.Open(ctx, reader.Options{Servers: endpoints, Token: token, Transport: &transport.FastHTTP{}})
			if err != nil {
				return // the job was over
			}
			defer r.Close()
			var all sync.WaitGroup
			for range 3 { // so that each server is always asked
				all.Go(func() {
					ids := make([]uint64, 2000)
					for ctx.Err() == nil {
						for i := range ids {
							ids[i] = rand.Uint64N(loopHeight)
						}
						if _, err := r.Rows(ctx, r.Params()[0].Name, ids); err != nil {
							return
						}
						n.Add(int64(len(ids)))
					}
				})
			}
			all.Wait()
		})
	}
	for role, out := range runProcessesAt(b, endpoints, "traffic", 2) {
		var t timing
		if err := json.Unmarshal([]byte(out), &t); err != nil {
			b.Fatalf("%s printed %q: %v", role, out, err)
		}
		cpu += t.CPU
	}
	stop()
	reading.Wait()
	return cpu, n.Load()
}
