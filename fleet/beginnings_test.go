package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestStepsBeginWithTheWeights draws jobs of uneven epochs, in every mode, with sessions that are kept, closed and made anew, or of
// other arrays, and with a checkpoint that is loaded between. Behind a barrier the first training step of every worker begins with what
// an evaluation sees there, to the bit; and no session ever begins with what lay in its arrays.
//
// Promise: [G2] in every mode a session's first step, and its first after an epoch's end, a barrier, a collective or
// a load, begin with the weights that servers have then
func TestStepsBeginWithTheWeights(t *testing.T) {
	t.Parallel()
	trial.EachSeed(t, 60, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			b := drawBeginnings(seed, t.TempDir())
			defer func() {
				if t.Failed() {
					t.Logf("run it again with FLEET_SEED=%d go test ./fleet -run '^TestStepsBeginWithTheWeights$'\n%+v", seed.N, b)
				}
			}()
			trial.Cluster(b.Servers, b.Workers).Simulate(t, nil, b.play)
		})
	})
}

// beginnings is such a job.
type beginnings struct {
	Servers, Workers int
	Strategy         strategy.Strategy
	Rule             optimizer.Rule
	Rows             bool
	Epochs           [][]epochOf // by epoch and worker
	Load             int         // the epoch behind which worker 0 loads what was saved behind the first
	dir              string
	all              *rendezvous
}

// epochOf is a worker's epoch.
type epochOf struct {
	Steps    int
	Session  string // kept, anew, fresh or another
	NextToo  bool   // the last step names the ids of the next epoch's first
	Evaluate bool   // by the session that trains, before its first step
}

func drawBeginnings(seed trial.Seed, dir string) *beginnings {
	r := rand.New(rand.NewPCG(seed.N, 7))
	modes := append(strategy.Modes(), "alone", "collective")
	b := &beginnings{Servers: 1 + r.IntN(2), Workers: 1 + r.IntN(3), Rows: r.IntN(2) == 0, dir: dir}
	mode := modes[int(seed.N)%len(modes)]
	switch mode {
	case "alone":
		b.Servers, b.Workers, mode = 0, 1, strategy.ModeAsync
	case "collective":
		b.Servers, b.Workers, mode = 0, 2+r.IntN(2), strategy.ModeSync
	}
	b.Strategy = strategy.Strategy{Mode: mode}
	switch mode {
	case strategy.ModeAsync:
		b.Strategy.LookAhead = b.Servers > 0 && r.IntN(3) == 0
		b.Strategy.IndependentRecvThread = b.Servers > 0 && r.IntN(4) == 0
	case strategy.ModeGeo:
		b.Strategy.KSteps = 1 + r.IntN(4)
	case strategy.ModeSSP:
		b.Strategy.Staleness = r.IntN(3)
	}
	if mode != strategy.ModeGeo && r.IntN(3) == 0 {
		b.Strategy.GradientMerge.KSteps = 2 + r.IntN(2)
	}
	b.Rule = []optimizer.Rule{optimizer.SGD{LR: .05}, optimizer.Momentum{LR: .01, Momentum: .9}, optimizer.Adam{LR: .02}}[r.IntN(3)]
	if mode == strategy.ModeGeo {
		b.Rule = optimizer.SGD{LR: .05}
	}
	b.Epochs = make([][]epochOf, 2+r.IntN(3))
	for e := range b.Epochs {
		for range b.Workers {
			b.Epochs[e] = append(b.Epochs[e], epochOf{r.IntN(5), []string{"kept", "anew", "fresh", "another"}[r.IntN(4)], r.IntN(2) == 0, r.IntN(4) == 0})
		}
	}
	if b.Servers > 0 && mode != strategy.ModeGeo {
		b.Load = r.IntN(len(b.Epochs))
	}
	b.all = newRendezvous(b.Workers)
	return b
}

// thread is a session of the job, and its arrays.
type thread struct {
	*trial.Pulled
	session optimizer.Session
}

func (b *beginnings) open(tr optimizer.Trainer, m *trial.Pulled) (*thread, error) {
	s, err := tr.Open(m.List)
	return &thread{m, s}, err
}

// model is new arrays of the job's model; those of a further session hold what means nothing.
func (b *beginnings) model(further bool) *trial.Pulled {
	init := optimizer.Uniform{Low: -1, High: 1}
	m := &trial.Pulled{Objective: trial.Objective{List: []*optimizer.Param{trial.Dense("w", init, 7, 3), trial.Dense("big", init, 300, 90)}}}
	if b.Rows {
		m.List = append(m.List, trial.Embedding("rows", nil, 0, 3))
	}
	for _, p := range m.List {
		for i := range p.W {
			if further {
				p.W[i] = 99
			}
		}
	}
	return m
}

func (b *beginnings) batch(worker, epoch, step int) trial.Batch {
	at := epoch*31 + worker*7 + step
	batch := trial.Batch{X: float32(at%5) - 2, Samples: 1 + at%3}
	if b.Rows {
		batch.IDs = [][]uint64{{uint64(at % 3), 10 + uint64(worker)}}
	}
	return batch
}

func (b *beginnings) play(ctx context.Context, f *fleet.Fleet) error {
	first := b.model(false)
	return trial.Play(ctx, f, first, b.Rule, b.Strategy, func() error {
		now, err := b.open(first.Trainer, first)
		if err != nil {
			return err
		}
		open := []*thread{now}
		for e, of := range b.Epochs {
			own := of[f.WorkerIndex()]
			if own.Session != "kept" && e > 0 {
				if now, open, err = b.change(ctx, first.Trainer, own.Session, now, open); err != nil {
					return err
				}
			}
			if err := b.epoch(ctx, f, first.Trainer, now, e, own); err != nil {
				return fmt.Errorf("epoch %d: %w", e, err)
			}
			if err := b.between(ctx, f, first.Trainer, e); err != nil {
				return err
			}
		}
		for _, th := range open {
			err = errors.Join(err, th.session.Close(ctx))
		}
		return err
	})
}

// change has a worker go on in another session.
func (b *beginnings) change(ctx context.Context, tr optimizer.Trainer, how string, now *thread, open []*thread) (*thread, []*thread, error) {
	several := b.Servers > 0 && b.Strategy.Mode != strategy.ModeSync && b.Strategy.Mode != strategy.ModeSSP
	if how != "another" || !several {
		if err := now.session.Close(ctx); err != nil {
			return nil, nil, err
		}
		open = slices.DeleteFunc(open, func(th *thread) bool { return th == now })
	}
	m := b.model(true)
	if how == "anew" {
		m = now.Pulled
	}
	if b.Strategy.Mode == strategy.ModeHalfAsync { // open threads wait for each other
		for _, th := range open {
			if err := th.session.Close(ctx); err != nil {
				return nil, nil, err
			}
		}
		open = nil
	}
	next, err := b.open(tr, m)
	return next, append(open, next), err
}

// epoch trains; the first step begins with what an evaluation sees.
func (b *beginnings) epoch(ctx context.Context, f *fleet.Fleet, tr optimizer.Trainer, th *thread, e int, own epochOf) error {
	w := f.WorkerIndex()
	look, err := b.open(tr, b.model(true))
	if err != nil {
		return err
	}
	ids := b.batch(w, e, 0).IDs
	rows := func() (r []optimizer.Rows) {
		if b.Rows {
			r = append(r, trial.RowsOf(look.List[2], ids[0]))
		}
		return r
	}
	seen := rows()
	if err := trial.Look(ctx, look.session, seen...); err != nil {
		return err
	}
	if err := look.session.Close(ctx); err != nil {
		return err
	}
	if own.Evaluate {
		if err := trial.Look(ctx, th.session, rows()...); err != nil {
			return err
		}
	}
	if err := b.all.wait(ctx); err != nil { // all have looked
		return err
	}
	for i := range own.Steps {
		var next *trial.Batch
		if i+1 < own.Steps || own.NextToo {
			n := b.batch(w, e, i+1)
			if i+1 == own.Steps {
				n = b.batch(w, e+1, 0)
			}
			next = &n
		}
		batch := b.batch(w, e, i)
		st := th.Step(batch, next)
		if err := th.session.Begin(ctx, st); err != nil {
			return err
		}
		if alone := b.Workers == 1 && b.Strategy.Mode != strategy.ModeGeo; i == 0 || alone && !b.Rows && i < b.Strategy.GradientMerge.KSteps {
			if err := b.same(look, seen, th, st); err != nil {
				return fmt.Errorf("worker %d, step %d: %w", w, i, err)
			}
			if err := b.all.wait(ctx); err != nil { // all have begun
				return err
			}
		}
		if err := th.Gradients(st, batch.X); err != nil {
			return err
		}
		if err := th.session.End(ctx, st); err != nil {
			return err
		}
	}
	if own.Steps == 0 {
		return b.all.wait(ctx)
	}
	return nil
}

// same compares what a step begins with to what was seen.
func (b *beginnings) same(look *thread, seen []optimizer.Rows, th *thread, st *optimizer.Step) error {
	for i, p := range look.List {
		if !p.Embedding && !slices.Equal(p.W, th.List[i].W) {
			return fmt.Errorf("the step begins with %q = %v …, an evaluation saw %v …", p.Name, th.List[i].W[:3], p.W[:3])
		}
	}
	for e := range seen {
		for i, w := range seen[e].W {
			if math.Float32bits(w) != math.Float32bits(st.Rows[e].W[i]) {
				return fmt.Errorf("the step begins with rows %v, an evaluation saw %v", st.Rows[e].W, seen[e].W)
			}
		}
	}
	return nil
}

// between ends an epoch, and may save or load.
func (b *beginnings) between(ctx context.Context, f *fleet.Fleet, tr optimizer.Trainer, e int) error {
	if err := errors.Join(tr.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	switch {
	case b.Load == 0:
		return nil
	case e == 0 && f.IsFirstWorker():
		if err := f.SavePersistables(ctx, b.dir); err != nil {
			return err
		}
	case e == b.Load && f.IsFirstWorker():
		if err := f.LoadModel(ctx, b.dir); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}

// rendezvous is where goroutines of a test wait for each other, again and again, beside the job.
type rendezvous struct {
	all  int
	mu   sync.Mutex
	here int
	met  chan struct{}
}

func newRendezvous(all int) *rendezvous { return &rendezvous{all: all} }

func (r *rendezvous) wait(ctx context.Context) error {
	r.mu.Lock()
	if r.met == nil {
		r.met = make(chan struct{}) // within the test's bubble
	}
	met := r.met
	if r.here++; r.here == r.all {
		r.here, r.met = 0, nil
		close(met)
	}
	r.mu.Unlock()
	select {
	case <-met:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
