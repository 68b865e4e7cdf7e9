package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// Trial is a small training in virtual time, with the calls of training loops: Begin, gradients, End, Begin, …
type Trial struct {
	Place
	Strategy strategy.Strategy
	Rule     optimizer.Rule // nil means SGD of Rate
	Steps    int            // of a thread; 0 means 1
	Threads  int            // of a worker; 0 means 1
	Wide     int            // elements of the large dense param; 0 means 20,000, for two servers
	NoRows   bool           // leave the embedding out
	More     int            // further rows that every step trains
	Change   func(w, rows *optimizer.Param)
	Samples  []int         // by worker; nil means 4 each
	Latency  time.Duration // of every call; 0 means 1 ms
	// of each worker's steps; nil means a little over 10 ms, so that no two events coincide
	Pace    []time.Duration
	Steady  bool      // every gradient is -1, so that each update of a weight counts
	Towards []float32 // target of each worker for all weights; nil means a different one in each step
	Spoil   func(step int, m *Pulled, st *optimizer.Step)
	// the step before which worker 1 falls silent; 0 means never
	Gone int
	// the endpoint that gets no messages after worker 1 has gone, and whose process runs on
	SilentTo string
	After    func(ctx context.Context, f *fleet.Fleet) error // called on workers when all have trained
	Logger   *slog.Logger                                    // nil means none
	Late     bool                                            // worker 1 joins, and does nothing else for some hours
	// the roles that do not start: "servers", "workers", or "worker 1"
	Missing string
}

const (
	Steps = 12    // of most trials
	Rate  = 0.125 // the trial's learning rate; sums of it are exact
	hours = 3 * time.Hour
)

// With returns the trial with another strategy.
func (x Trial) With(set func(*strategy.Strategy)) Trial {
	set(&x.Strategy)
	return x
}

// Works runs the trial and fails the test on any error.
func (x Trial) Works(t *testing.T) Outcome {
	t.Helper()
	o := x.Run(t)
	for role, err := range o.Errs {
		if err != nil {
			t.Fatalf("%s with %+v: %s: %v", x.Name, x.Strategy, role, err)
		}
	}
	return o
}

// Run runs the trial, whatever its result.
func (x Trial) Run(t *testing.T) (o Outcome) {
	t.Helper()
	x.Strategy.Mode = x.Mode
	x.Steps, x.Threads = max(x.Steps, 1), max(x.Threads, 1)
	dir := t.TempDir()
	o = Outcome{Counts: make([]stats.Counts, x.Workers), Looped: make([]time.Duration, x.Workers),
		When: map[string]time.Duration{}, To: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		n := &network{Memory: transport.NewMemory(), latency: max(x.Latency, time.Millisecond), to: o.To}
		began := time.Now()
		var mu sync.Mutex
		cluster := Cluster(x.Servers, x.Workers)
		cluster.Options.Transport, cluster.Options.Logger = n, cmp.Or(x.Logger, slog.New(slog.DiscardHandler))
		cluster.Options.Placements = []placement.Policy{LastServer{}}
		o.Errs = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			err := x.play(ctx, f, &o, n, dir)
			mu.Lock()
			defer mu.Unlock()
			o.When[roleOf(f)] = time.Since(began)
			return err
		})
		o.Net, o.Most, o.Pushes = n.Stats(), n.most, n.pushes-1 // without the published weights of worker 0
	})
	o.Model, _ = WeightsOf(dir)
	return o
}

func roleOf(f *fleet.Fleet) string {
	if f.IsServer() {
		return fmt.Sprintf("server %d", f.ServerIndex())
	}
	return fmt.Sprintf("worker %d", f.WorkerIndex())
}

// Objective returns the trial's model.
func (x Trial) Objective() *Pulled {
	var first optimizer.Initializer = optimizer.Uniform{Low: -1, High: 1}
	if x.Steady {
		first = nil
	}
	wide := []int{200, 100}
	if x.Wide > 0 {
		wide = []int{x.Wide, 1}
	}
	small, rows := &optimizer.Param{Name: "w", Shape: []int{7, 3}, Init: first, Seed: 3}, Embedding("rows", first, 0, 4)
	if x.Change != nil {
		x.Change(small, rows)
	}
	all := []*optimizer.Param{small, {Name: "wide", Shape: wide, Init: first, Seed: 3}, rows}
	if x.NoRows {
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
	return &Pulled{Objective{List: all}}
}

// Build sets up the trial's training on one role.
func (x Trial) Build(f *fleet.Fleet) (*Pulled, error) {
	rule := x.Rule
	if rule == nil {
		rule = optimizer.SGD{LR: Rate}
	}
	m := x.Objective()
	return m, Minimize(f, m, rule, x.Strategy)
}

// absent reports whether a role does not start.
func (x Trial) absent(f *fleet.Fleet) bool {
	switch x.Missing {
	case "servers":
		return f.IsServer()
	case "workers":
		return f.IsWorker()
	}
	return x.Missing != "" && x.Missing == roleOf(f)
}

// play runs a role.
func (x Trial) play(ctx context.Context, f *fleet.Fleet, o *Outcome, n *network, dir string) error {
	if x.Gone > 0 && f.WorkerIndex() == 1 && f.ServerNum() > 0 {
		own := &Cable{Transport: n}
		again, err := Another(f, own)
		if err != nil {
			return err
		}
		defer again.Close()
		defer own.Kill() // it ends without a message
		f = again
	}
	m, err := x.Build(f)
	if err != nil || x.absent(f) {
		return err
	}
	if f.IsServer() {
		return Serve(ctx, f, "")
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	w := f.WorkerIndex()
	if x.Late && w == 1 {
		time.Sleep(hours)
		return nil
	}
	if w == 0 {
		o.Plan, _ = f.Plan()
	}
	defer func() { o.Counts[w] = f.Stats().Counts }()
	began := time.Now()
	end, err := x.train(ctx, m, w)
	if err != nil {
		return err
	}
	o.Looped[w] = time.Since(began)
	if w == 0 {
		o.Begun = m.List[0].W[0]
	}
	if x.Gone > 0 && w == 1 {
		return n.fallSilent(x.SilentTo)
	}
	if err := errors.Join(end(), m.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if x.After != nil {
		if err := x.After(ctx, f); err != nil {
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

// train runs the loops of a worker's threads, and returns the function that ends their sessions.
func (x Trial) train(ctx context.Context, first *Pulled, w int) (end func() error, err error) {
	models, sessions, errs := make([]*Pulled, x.Threads), make([]optimizer.Session, x.Threads), make([]error, x.Threads)
	for i := range models {
		if models[i] = first; i > 0 {
			models[i] = x.Objective()
		}
		if sessions[i], err = first.Trainer.Open(models[i].List); err != nil {
			return nil, err
		}
	}
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() { errs[i] = x.loop(ctx, s, models[i], w) })
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
func (x Trial) loop(ctx context.Context, s optimizer.Session, m *Pulled, w int) error {
	steps, pace := x.Steps, time.Duration(10_000+371*w)*time.Microsecond
	if x.Gone > 0 && w == 1 {
		steps = x.Gone
	}
	if x.Pace != nil {
		pace = x.Pace[w]
	}
	for i := range steps {
		b := x.batch(w, i)
		var next *Batch
		if i+1 < steps {
			n := x.batch(w, i+1)
			next = &n
		}
		st := m.Step(b, next)
		if err := s.Begin(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		time.Sleep(pace)
		if err := m.Gradients(st, b.X); err != nil {
			return err
		}
		if x.Spoil != nil {
			x.Spoil(i, m, st)
		}
		if err := s.End(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// batch returns a worker's batch in a step: a target, a row that every worker trains in some steps, and a row that only
// this worker trains, in all steps.
func (x Trial) batch(w, step int) Batch {
	b := Batch{X: float32((step*7+w*3)%11)/22 - 0.25, Samples: 4, IDs: [][]uint64{{uint64(step % 5), OwnRow(w)}}}
	for i := range x.More {
		b.IDs[0] = append(b.IDs[0], OwnRow(100+i))
	}
	if x.Samples != nil {
		b.Samples = x.Samples[w]
	}
	switch {
	case x.Steady:
		b.X = Far
	case x.Towards != nil:
		b.X = x.Towards[w]
	}
	return b
}

// Far is so far from all weights that gradients are -1.
const Far = 1000

// OwnRow returns the id of the row that only this worker trains, in every step.
func OwnRow(w int) uint64 { return uint64(1000 + w) }
