package fleet_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// trial is a small training in virtual time, in the order of calls that loops make: Begin, gradients, End, Begin, …
type trial struct {
	place
	s        strategy.Strategy
	rule     optimizer.Rule // nil means SGD with trialRate
	steps    int            // of a thread; 0 means trialSteps
	threads  int            // of a worker; 0 means 1
	wide     int            // elements of the large dense param; 0 means 20,000, which two servers share
	noRows   bool           // leave the embedding out
	more     int            // rows that every step trains besides
	change   func(w, rows *optimizer.Param)
	samples  []int           // by worker; nil means 4 each
	latency  time.Duration   // of every call; 0 means 1 ms
	pace     []time.Duration // of each worker's steps; nil means 10 ms and a little more, so that no two things happen at once
	steady   bool            // every gradient is -1, so that each update of a weight counts
	towards  []float32       // where each worker pulls all weights; nil means another place in each step
	spoil    func(step int, m *anything, st *optimizer.Step)
	gone     int                                             // the step before which worker 1 falls silent; 0 means never
	silentTo string                                          // an endpoint that nothing reaches any more when worker 1 is gone, which lives on
	after    func(ctx context.Context, f *fleet.Fleet) error // what workers do when all have trained
	logger   *slog.Logger                                    // nil means none
	late     bool                                            // worker 1 joins, and comes to nothing else for some hours
	missing  string                                          // the roles that never come: "servers", "workers", or "worker 1"
}

const (
	trialSteps = 12
	trialRate  = 0.125 // sums of it are exact
	hours      = 3 * time.Hour
)

// outcome is what can be seen of a trial.
type outcome struct {
	model  []byte
	plan   *placement.Plan
	counts []fleet.Counts  // by worker
	looped []time.Duration // how long a worker's loop took
	begun  float32         // a weight as worker 0's last step began with it
	errs   map[string]error
	when   map[string]time.Duration // a role ended
	net    transport.Stats
	most   int            // bytes of the largest message
	to     map[string]int // bytes of requests by endpoint
	pushes int            // requests to server 0 with its half of the large param's gradient
}

func (x trial) with(set func(*strategy.Strategy)) trial {
	set(&x.s)
	return x
}

// works runs the trial, in which nothing may fail.
func (x trial) works(t *testing.T) outcome {
	t.Helper()
	o := x.run(t)
	for role, err := range o.errs {
		if err != nil {
			t.Fatalf("%s with %+v: %s: %v", x.name, x.s, role, err)
		}
	}
	return o
}

// run runs the trial whatever becomes of it.
func (x trial) run(t *testing.T) (o outcome) {
	t.Helper()
	x.s.Mode = x.mode
	x.steps, x.threads = max(x.steps, 1), max(x.threads, 1)
	dir := t.TempDir()
	o = outcome{counts: make([]fleet.Counts, x.workers), looped: make([]time.Duration, x.workers), when: map[string]time.Duration{}, to: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		n := &network{Memory: transport.NewMemory(), latency: max(x.latency, time.Millisecond), to: o.to}
		began := time.Now()
		var mu sync.Mutex
		cluster := fleettest.Cluster{Servers: x.servers, Workers: x.workers,
			Options: fleet.Options{Transport: n, Logger: cmp.Or(x.logger, slog.New(slog.DiscardHandler)), Placements: []placement.Policy{lastServer{}}}}
		o.errs = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			err := x.play(ctx, f, &o, n, dir)
			mu.Lock()
			defer mu.Unlock()
			o.when[roleOf(f)] = time.Since(began)
			return err
		})
		o.net, o.most, o.pushes = n.Stats(), n.most, n.pushes-1 // worker 0 has published its weights
	})
	o.model, _ = os.ReadFile(filepath.Join(dir, "weights.safetensors"))
	return o
}

func roleOf(f *fleet.Fleet) string {
	if f.IsServer() {
		return fmt.Sprintf("server %d", f.ServerIndex())
	}
	return fmt.Sprintf("worker %d", f.WorkerIndex())
}

// objective is the trial's model.
func (x trial) objective() *anything {
	var first optimizer.Initializer = optimizer.Uniform{Low: -1, High: 1}
	if x.steady {
		first = nil
	}
	wide := []int{200, 100}
	if x.wide > 0 {
		wide = []int{x.wide, 1}
	}
	small := &optimizer.Param{Name: "w", Shape: []int{7, 3}, Init: first, Seed: 3}
	rows := &optimizer.Param{Name: "rows", Shape: []int{0, 4}, Embedding: true, Init: first, Seed: 3}
	if x.change != nil {
		x.change(small, rows)
	}
	all := []*optimizer.Param{small, {Name: "wide", Shape: wide, Init: first, Seed: 3}, rows}
	if x.noRows {
		all = all[:2]
	}
	for _, p := range all[:2] {
		if p.W == nil {
			p.W = make([]float32, p.Size())
			p.InitDense(p.W)
		}
		if !p.Frozen {
			p.G = make([]float32, p.Size())
		}
	}
	return &anything{params: all}
}

// build makes the trial's training on one role.
func (x trial) build(f *fleet.Fleet) (*anything, error) {
	rule := x.rule
	if rule == nil {
		rule = optimizer.SGD{LR: trialRate}
	}
	opt, err := f.DistributedOptimizer(rule, x.s)
	if err != nil {
		return nil, err
	}
	m := x.objective()
	return m, opt.Minimize(m)
}

// absent says whether a role never comes.
func (x trial) absent(f *fleet.Fleet) bool {
	switch x.missing {
	case "servers":
		return f.IsServer()
	case "workers":
		return f.IsWorker()
	}
	return x.missing != "" && x.missing == roleOf(f)
}

// play is what each role does.
func (x trial) play(ctx context.Context, f *fleet.Fleet, o *outcome, n *network, dir string) error {
	m, err := x.build(f)
	if err != nil || x.absent(f) {
		return err
	}
	if f.IsServer() {
		return errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	w := f.WorkerIndex()
	if x.late && w == 1 {
		time.Sleep(hours)
		return nil
	}
	if w == 0 {
		o.plan, _ = f.Plan()
	}
	defer func() { o.counts[w] = f.Counts() }()
	began := time.Now()
	end, err := x.train(ctx, m, w)
	if err != nil {
		return err
	}
	o.looped[w] = time.Since(began)
	if w == 0 {
		o.begun = m.params[0].W[0]
	}
	if x.gone > 0 && w == 1 {
		return n.fallSilent(x.silentTo)
	}
	if err := errors.Join(end(), m.trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if x.after != nil {
		if err := x.after(ctx, f); err != nil {
			return err
		}
	}
	if w == 0 {
		if err := f.SaveInferenceModel(ctx, dir, m); err != nil {
			return err
		}
	}
	return f.StopWorker(ctx)
}

// train runs the loops of a worker's threads, and returns what ends their sessions.
func (x trial) train(ctx context.Context, first *anything, w int) (end func() error, err error) {
	sessions, errs := make([]optimizer.Session, x.threads), make([]error, x.threads)
	for i := range sessions {
		if sessions[i], err = first.trainer.Open(first.params); err != nil {
			return nil, err
		}
	}
	var wg sync.WaitGroup
	for i, s := range sessions {
		m := first
		if i > 0 {
			m = x.objective()
			if s, err = first.trainer.Open(m.params); err != nil {
				return nil, err
			}
			sessions[i] = s
		}
		wg.Go(func() { errs[i] = x.loop(ctx, s, m, w) })
	}
	wg.Wait()
	return func() (err error) {
		for _, s := range sessions {
			err = errors.Join(err, s.Close(ctx))
		}
		return err
	}, errors.Join(errs...)
}

// loop is a training loop.
func (x trial) loop(ctx context.Context, s optimizer.Session, m *anything, w int) error {
	steps, pace := x.steps, time.Duration(10_000+371*w)*time.Microsecond
	if x.gone > 0 && w == 1 {
		steps = x.gone
	}
	if x.pace != nil {
		pace = x.pace[w]
	}
	for i := range steps {
		b := x.batch(w, i)
		var next *batch
		if i+1 < steps {
			n := x.batch(w, i+1)
			next = &n
		}
		st := m.step(b, next)
		if err := s.Begin(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		time.Sleep(pace)
		if err := m.gradients(st, b.x); err != nil {
			return err
		}
		if x.spoil != nil {
			x.spoil(i, m, st)
		}
		if err := s.End(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// batch is a worker's in a step: a target, a row that every worker trains in some steps and one that it alone trains in all.
func (x trial) batch(w, step int) batch {
	b := batch{x: float32((step*7+w*3)%11)/22 - 0.25, samples: 4, ids: [][]uint64{{uint64(step % 5), ownRow(w)}}}
	for i := range x.more {
		b.ids[0] = append(b.ids[0], ownRow(100+i))
	}
	if x.samples != nil {
		b.samples = x.samples[w]
	}
	switch {
	case x.steady:
		b.x = far
	case x.towards != nil:
		b.x = x.towards[w]
	}
	return b
}

// far is so far from all weights that gradients are -1.
const far = 1000

func ownRow(w int) uint64 { return uint64(1000 + w) }

// network is memory on which calls take a while, and which notes what passes.
type network struct {
	*transport.Memory
	latency time.Duration

	mu           sync.Mutex
	most, pushes int
	to           map[string]int
	dead         string // an endpoint that nothing reaches
}

// fallSilent lets nothing through to an endpoint any more, unless it is "", whose process goes on for some hours.
func (n *network) fallSilent(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	n.mu.Lock()
	n.dead = endpoint
	n.mu.Unlock()
	time.Sleep(hours)
	return nil
}

func (n *network) note(endpoint string, size int) (dead bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.most = max(n.most, size)
	n.to[endpoint] += size
	if size > 20_000 && endpoint == "server-0:1" {
		n.pushes++
	}
	return endpoint == n.dead
}

// Call implements transport.Transport.
func (n *network) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	size, wait := 0, n.latency
	for _, part := range req {
		size += len(part)
	}
	if n.note(endpoint, size) {
		wait = math.MaxInt64
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return n.Memory.Call(ctx, endpoint, req, func(answer []byte) error {
		n.note("", len(answer))
		return read(answer)
	})
}

// steps are the pushes of all workers that count.
func (o outcome) steps() (n int64) {
	for _, c := range o.counts {
		n += c.Steps
	}
	return n
}

// near says whether a differs from b by at most that part of b.
func near(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Abs(b) }

// value is the first element of a variable.
func (o outcome) value(t *testing.T, name string) float64 { return float64(o.values(t, name)[0]) }

func (o outcome) values(t *testing.T, name string) []float32 {
	t.Helper()
	return tensor[float32](t, o.model, name)
}

// TestTrialsRepeat: two runs of a trial are the same, so that a difference between others is an option's.
func TestTrialsRepeat(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			x := trial{place: p, steps: trialSteps}
			a, b := x.works(t), x.works(t)
			if !bytes.Equal(a.model, b.model) || len(a.model) == 0 {
				t.Error("weights differ")
			}
			if a.steps() != b.steps() || !maps.Equal(a.when, b.when) {
				t.Errorf("%d steps, ended at %v; again %d, %v", a.steps(), a.when, b.steps(), b.when)
			}
			if a, b := a.net.Sent, b.net.Sent; !near(float64(a), float64(b), 0.01) { // frames say who sends in numbers of any length
				t.Errorf("%d bytes were sent, again %d", a, b)
			}
		})
	}
}
