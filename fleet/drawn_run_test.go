package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
)

// anything is an objective of whatever params: each weight w is pulled towards an example's x by a gradient that is never long.
type anything struct {
	params  []*optimizer.Param
	trainer optimizer.Trainer
}

func (m *anything) Params() []*optimizer.Param { return m.params }
func (m *anything) Bind(t optimizer.Trainer)   { m.trainer = t }
func (m *anything) WriteGraph(w io.Writer) error {
	_, err := io.WriteString(w, "{}\n")
	return err
}

// batch is what one thread trains on in one step: a target, and ids for every embedding.
type batch struct {
	x       float32
	samples int
	ids     [][]uint64
}

// batches are those of a thread in an epoch.
func (d drawn) batches(m *anything, worker, thread, epoch int) []batch {
	r := rand.New(rand.NewPCG(d.seed, uint64(1+worker+10*thread+100*epoch)))
	all := make([]batch, d.steps[worker][epoch])
	for i := range all {
		all[i] = batch{x: r.Float32() - 0.5, samples: 1 + r.IntN(d.samples)}
		for _, p := range m.params {
			if p.Embedding {
				all[i].ids = append(all[i].ids, drawIDs(r, p))
			}
		}
	}
	return all
}

// drawIDs are some of an embedding's ids, the first and the last among them, or none.
func drawIDs(r *rand.Rand, p *optimizer.Param) (ids []uint64) {
	last := uint64(math.MaxUint64)
	if p.Height() > 0 {
		last = uint64(p.Height() - 1)
	}
	for range r.IntN(12) {
		ids = append(ids, pick(r, 0, last, last/2, min(last, r.Uint64N(10)), r.Uint64N(max(1, last))))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// step is one step's, with the rows of the next if they are known.
func (m *anything) step(b batch, next *batch) *optimizer.Step {
	st := &optimizer.Step{Samples: b.samples}
	for _, p := range m.params {
		if !p.Embedding {
			continue
		}
		e := len(st.Rows)
		n := len(b.ids[e]) * p.Dim()
		rows := optimizer.Rows{Param: p, IDs: b.ids[e], W: make([]float32, n), G: make([]float32, n)}
		if next != nil {
			rows.Next = next.ids[e]
		}
		st.Rows = append(st.Rows, rows)
	}
	return st
}

// gradients fills in those of a step and its loss.
func (m *anything) gradients(st *optimizer.Step, x float32) error {
	for _, p := range m.params {
		if !p.Embedding && !p.Frozen {
			st.Loss += pull(p.G, p.W, x)
		}
	}
	for _, r := range st.Rows {
		st.Loss += pull(r.G, r.W, x)
	}
	if math.IsNaN(st.Loss) || math.IsInf(st.Loss, 0) {
		return fmt.Errorf("the loss is %v", st.Loss)
	}
	return nil
}

func pull(g, w []float32, x float32) (loss float64) {
	for i := range g {
		far := w[i] - x + float32(i%3)/4
		g[i] = max(-1, min(far, 1))
		loss += math.Abs(float64(far))
	}
	return loss
}

// epoch trains a thread's batches.
func (d drawn) epoch(ctx context.Context, s optimizer.Session, m *anything, all []batch) error {
	for i, b := range all {
		var next *batch
		if d.lookAhead && i+1 < len(all) {
			next = &all[i+1]
		}
		if d.evals && i%2 == 1 {
			st := m.step(b, nil)
			st.Eval = true
			if err := errors.Join(s.Begin(ctx, st), s.End(ctx, st)); err != nil {
				return fmt.Errorf("evaluation %d: %w", i, err)
			}
		}
		st := m.step(b, next)
		if err := s.Begin(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := m.gradients(st, b.x); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := s.End(ctx, st); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// threads trains an epoch of a worker, each thread in a session of its own.
func (d drawn) trainEpoch(ctx context.Context, f *fleet.Fleet, first *anything, epoch int) error {
	errs := make([]error, d.threads)
	var wg sync.WaitGroup
	for i := range d.threads {
		m := first
		if i > 0 {
			m = d.model()
		}
		s, err := first.trainer.Open(m.params)
		if err != nil {
			return err
		}
		wg.Go(func() {
			err := d.epoch(ctx, s, m, d.batches(m, f.WorkerIndex(), i, epoch))
			errs[i] = errors.Join(err, s.Close(ctx))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return first.trainer.EndEpoch(ctx)
}

// build makes the job's training on one role.
func (d drawn) build(f *fleet.Fleet) (*anything, error) {
	m := d.model()
	opt, err := f.DistributedOptimizer(d.rule, d.strategy)
	if err != nil {
		return nil, err
	}
	return m, opt.Minimize(m)
}

// leg is one job: both epochs with a checkpoint between them, or from that checkpoint the second.
type drawnLeg struct {
	drawn
	load, checkpoint, meanwhile string
	begun, ended                string // models
}

func (l drawnLeg) run(ctx context.Context, f *fleet.Fleet) error {
	m, err := l.build(f)
	if err != nil {
		return err
	}
	return from(ctx, f, l.load, func() error { return l.epochs(ctx, f, m) })
}

func (l drawnLeg) epochs(ctx context.Context, f *fleet.Fleet, m *anything) error {
	if l.load == "" {
		if err := l.move(f, m); err != nil {
			return err
		}
		if err := l.together(ctx, f, m, 0); err != nil {
			return fmt.Errorf("first epoch: %w", err)
		}
	}
	if l.checkpoint != "" && f.WorkerIndex() == 0 {
		if err := f.SavePersistables(ctx, l.checkpoint); err != nil {
			return err
		}
	}
	if err := l.model(ctx, f, m, l.begun); err != nil {
		return err
	}
	if err := l.together(ctx, f, m, 1); err != nil {
		return fmt.Errorf("second epoch: %w", err)
	}
	if err := l.model(ctx, f, m, l.ended); err != nil {
		return err
	}
	return l.check(f, m)
}

// move gives the worker's frozen dense params values of its own, as batch norm does.
func (l drawnLeg) move(f *fleet.Fleet, m *anything) error {
	for _, p := range m.params {
		if !p.Frozen || p.Embedding {
			continue
		}
		if err := m.set(p.Name, l.moved(p, f.WorkerIndex())); err != nil {
			return err
		}
	}
	return nil
}

// moved are a worker's values of a frozen dense param.
func (l drawnLeg) moved(p *optimizer.Param, worker int) []float32 {
	r := rand.New(rand.NewPCG(l.seed, uint64(1000+worker)))
	w := make([]float32, p.Size())
	for i := range w {
		w[i] = r.Float32() - 0.5
	}
	return w
}

// together trains an epoch, saving in the middle of it if the job does, and waits for all.
func (l drawnLeg) together(ctx context.Context, f *fleet.Fleet, m *anything, epoch int) error {
	var saving error
	var wg sync.WaitGroup
	if l.resaves && f.ServerNum() > 0 && f.WorkerIndex() == f.WorkerNum()-1 {
		wg.Go(func() { saving = f.SavePersistables(ctx, l.meanwhile) })
	}
	err := l.trainEpoch(ctx, f, m, epoch)
	wg.Wait()
	if err := errors.Join(err, saving); err != nil {
		return err
	}
	return f.BarrierWorker(ctx)
}

// model saves the model by worker 0 while nobody trains.
func (l drawnLeg) model(ctx context.Context, f *fleet.Fleet, m *anything, dir string) error {
	if f.WorkerIndex() == 0 {
		if err := f.SaveInferenceModel(ctx, dir, m); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}

// check finds weights that are none, and frozen ones that are not what the worker, or the first one in what it saved, made of them.
func (l drawnLeg) check(f *fleet.Fleet, m *anything) error {
	by := f.WorkerIndex()
	if l.load != "" {
		by = 0
	}
	fresh := l.drawn.model()
	for i, p := range m.params {
		for _, w := range p.W {
			if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
				return fmt.Errorf("a weight of %q is %v", p.Name, w)
			}
		}
		if p.Frozen && !p.Embedding && !slices.Equal(p.W, fresh.params[i].W) && !slices.Equal(p.W, l.moved(p, by)) {
			return fmt.Errorf("%q is frozen and has changed", p.Name)
		}
	}
	return nil
}
