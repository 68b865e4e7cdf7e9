package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// traffic is what the workers of a job in processes do: pull some ids of a table, push gradients to them, again and again.
type traffic struct {
	Mode             strategy.Mode
	IDs, Height, Dim int
	Steps            int
	Ahead            bool // ids of the next step are known
}

// timing is what a role measured.
type timing struct {
	Pulls, Pushes []time.Duration
	Took          time.Duration // all steps, and until the last push was applied
	CPU           time.Duration // of the process from start to end
}

// trafficVariable holds the traffic for the processes of a benchmark, as JSON.
const trafficVariable = "GOFLEET_TEST_TRAFFIC"

// BenchmarkProcesses runs a server and workers as processes of their own on loopback TCP: of this library, and of the program
// that one would write first, a map and a mutex behind the same transport.
//
//	loop    4,096 of a million rows of 16 floats, pulled and pushed, SGD applied
//	crowd   8 workers, 512 rows each; in half_async, where pulls and pushes are requests of their own
//	tiny    one row of one float
//	dense   one row of 4 MB
//
// Rows must have at the end what all pushes make of them.
//
// step-us is the time of a step, pull and push, as the slowest worker sees it; cpu-us what all processes used for a step of
// one worker, start and end of the job included.
func BenchmarkProcesses(b *testing.B) {
	loop := traffic{Mode: strategy.ModeAsync, IDs: loopIDs, Height: loopHeight, Dim: loopDim, Steps: 600}
	inSync, ahead := loop, loop
	inSync.Mode, ahead.Mode, ahead.Ahead = strategy.ModeSync, strategy.ModeSync, true
	crowd := loop
	crowd.Mode, crowd.IDs, crowd.Steps = strategy.ModeHalfAsync, 512, 2000
	tiny := traffic{Mode: strategy.ModeSync, IDs: 1, Height: 4, Dim: 1, Steps: 5000}
	dense := traffic{Mode: strategy.ModeSync, IDs: 1, Height: 4, Dim: 1 << 20, Steps: 200}
	for _, c := range []struct {
		name    string
		program string
		workers int
		traffic
	}{
		{"tiny", "traffic", 1, tiny}, {"naive/tiny", "naiveTraffic", 1, tiny},
		{"dense", "traffic", 1, dense}, {"naive/dense", "naiveTraffic", 1, dense},
		{"loop/async/1worker", "traffic", 1, loop}, {"loop/async/2workers", "traffic", 2, loop},
		{"loop/sync/1worker", "traffic", 1, inSync}, {"loop/sync/2workers", "traffic", 2, inSync},
		{"loop/sync/ahead/1worker", "traffic", 1, ahead}, {"loop/sync/ahead/2workers", "traffic", 2, ahead},
		{"crowd", "traffic", 8, crowd}, {"naive/crowd", "naiveTraffic", 8, crowd},
		{"naive/loop/1worker", "naiveTraffic", 1, loop}, {"naive/loop/2workers", "naiveTraffic", 2, loop},
	} {
		b.Run(c.name, func(b *testing.B) { benchProcesses(b, c.program, c.workers, c.traffic) })
	}
}

func benchProcesses(b *testing.B, program string, workers int, tr traffic) {
	text, err := json.Marshal(tr)
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv(trafficVariable, string(text))
	var steps, cpus []float64
	var pulls, pushes []time.Duration
	for range b.N {
		step, cpu := 0.0, 0.0
		for role, out := range runProcesses(b, program, 1, workers) {
			var t timing
			if err := json.Unmarshal([]byte(out), &t); err != nil {
				b.Fatalf("%s printed %q: %v", role, out, err)
			}
			step, cpu = max(step, micros(t.Took)/float64(tr.Steps)), cpu+micros(t.CPU)/float64(tr.Steps*workers)
			pulls, pushes = append(pulls, t.Pulls...), append(pushes, t.Pushes...)
		}
		steps, cpus = append(steps, step), append(cpus, cpu)
	}
	slices.Sort(steps)
	slices.Sort(cpus)
	slices.Sort(pulls)
	slices.Sort(pushes)
	b.ReportMetric(steps[len(steps)/2], "step-us")
	b.ReportMetric(steps[0], "best-step-us")
	b.ReportMetric(cpus[len(cpus)/2], "cpu-us")
	b.ReportMetric(micros(pulls[len(pulls)/2]), "pull-p50-us")
	b.ReportMetric(micros(pulls[len(pulls)*99/100]), "pull-p99-us")
	b.ReportMetric(micros(pushes[len(pushes)/2]), "push-p50-us")
	b.ReportMetric(micros(pushes[len(pushes)*99/100]), "push-p99-us")
	b.ReportMetric(0, "ns/op")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// runTraffic is the program of every role. It prints what it measured.
func runTraffic(ctx context.Context, out io.Writer) error {
	var tr traffic
	if err := json.Unmarshal([]byte(os.Getenv(trafficVariable)), &tr); err != nil {
		return err
	}
	f, err := fleet.New(ctx, nil, fleet.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	o, t := newLoop(nil, tr.Height, tr.Dim), &timing{}
	err = trial.Play(ctx, f, o, optimizer.SGD{LR: 0.01}, strategy.Strategy{Mode: tr.Mode}, func() (err error) {
		t, err = tr.train(ctx, f, o)
		return err
	})
	if err != nil {
		return err
	}
	return t.print(out)
}

// train is the work of a worker.
func (tr *traffic) train(ctx context.Context, f *fleet.Fleet, o *loop) (*timing, error) {
	session, err := o.OpenSession()
	if err != nil {
		return nil, err
	}
	st := &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{trial.RowsOf(o.List[0], make([]uint64, tr.IDs))}}
	r, batches := &st.Rows[0], tr.batches(f.WorkerIndex())
	for i := range r.G {
		r.G[i] = 1e-3
	}
	aim := func(i int) {
		r.IDs = batches[i%len(batches)]
		if tr.Ahead {
			r.Next = batches[(i+1)%len(batches)]
		}
	}
	pull := func(i int) error { aim(i); return session.Begin(ctx, st) }
	push := func(int) error { return session.End(ctx, st) }
	meet := func() error { return f.BarrierWorker(ctx) }
	t, err := tr.measure(pull, push, meet, func() error { return session.Close(ctx) })
	if err != nil {
		return nil, err
	}
	if err := meet(); err != nil {
		return nil, err
	}
	share := float32(1) // of a worker's gradient that a round takes
	if tr.Mode == strategy.ModeSync {
		share = 1 / float32(f.WorkerNum())
	}
	look, err := o.OpenSession()
	if err != nil {
		return nil, err
	}
	st.Eval, r.Next = true, nil
	aim(0)
	if err := look.Begin(ctx, st); err != nil {
		return nil, err
	}
	return t, errors.Join(tr.arrived(r.IDs, r.W, f.WorkerNum(), share), look.End(ctx, st), look.Close(ctx))
}

// arrived returns an error unless rows have what the pushes of all workers make of them.
func (tr *traffic) arrived(ids []uint64, w []float32, workers int, share float32) error {
	pushes := map[uint64]int{}
	for worker := range workers {
		for i, batch := range tr.batches(worker) {
			for _, id := range batch {
				pushes[id] += 2 + (tr.Steps+loopBatches-1-i)/loopBatches
			}
		}
	}
	for i, id := range ids {
		want := -0.01 * 1e-3 * share * float32(pushes[id])
		for _, got := range w[i*tr.Dim:][:tr.Dim] {
			if d := (got - want) / want; d < -1e-3 || d > 1e-3 {
				return fmt.Errorf("row %d has %g, want %g of %d pushes", id, got, want, pushes[id])
			}
		}
	}
	return nil
}

// measure times the steps, after some that bring the rows to life and a meeting of the workers.
func (tr *traffic) measure(pull, push func(i int) error, meet, end func() error) (*timing, error) {
	t := &timing{}
	step := func(i int) error {
		start := time.Now()
		if err := pull(i); err != nil {
			return err
		}
		pulled := time.Now()
		err := push(i)
		t.Pulls, t.Pushes = append(t.Pulls, pulled.Sub(start)), append(t.Pushes, time.Since(pulled))
		return err
	}
	for i := range 2 * loopBatches {
		if err := step(i); err != nil {
			return nil, err
		}
	}
	if err := meet(); err != nil {
		return nil, err
	}
	t.Pulls, t.Pushes = nil, nil
	start := time.Now()
	for i := range tr.Steps {
		if err := step(i); err != nil {
			return nil, err
		}
	}
	err := end()
	t.Took = time.Since(start)
	return t, err
}

// batches are sorted unique ids to cycle through.
func (tr *traffic) batches(worker int) [][]uint64 {
	r := rand.New(rand.NewPCG(uint64(worker), 1))
	all := make([][]uint64, loopBatches)
	for i := range all {
		for len(all[i]) < tr.IDs {
			all[i] = append(all[i], r.Uint64N(uint64(tr.Height)))
			if len(all[i]) == tr.IDs {
				slices.Sort(all[i])
				all[i] = slices.Compact(all[i])
			}
		}
	}
	return all
}

func (t *timing) print(out io.Writer) error {
	t.CPU = cpuTime()
	return json.NewEncoder(out).Encode(t)
}

// TestTraffic keeps the programs of BenchmarkProcesses working.
func TestTraffic(t *testing.T) {
	// Serial: it sets variables of the environment.
	trial.Slow(t)
	t.Setenv(trafficVariable, `{"Mode":"async","IDs":8,"Height":100,"Dim":2,"Steps":3}`)
	for _, program := range []string{"traffic", "naiveTraffic"} {
		for role, out := range runProcesses(t, program, 1, 2) {
			var m timing
			if err := json.Unmarshal([]byte(out), &m); err != nil {
				t.Errorf("%s of %s printed %q: %v", role, program, out, err)
			}
			if steps := map[bool]int{true: 3}[strings.HasPrefix(role, "worker")]; len(m.Pulls) != steps || len(m.Pushes) != steps {
				t.Errorf("%s of %s timed %d pulls and %d pushes, want %d", role, program, len(m.Pulls), len(m.Pushes), steps)
			}
		}
	}
}
