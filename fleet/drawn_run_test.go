package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
)

// drawn is a job drawn by seed, and what becomes of it.
type drawn struct{ trial.Drawn }

// epoch trains a thread's batches.
func (d drawn) epoch(ctx context.Context, s optimizer.Session, m *trial.Pulled, all []trial.Batch) error {
	for i, b := range all {
		var next *trial.Batch
		if d.LookAhead && i+1 < len(all) {
			next = &all[i+1]
		}
		if d.Evals && i%2 == 1 {
			st := m.Step(b, nil)
			st.Eval = true
			if err := trial.Step(ctx, s, st, nil); err != nil {
				return fmt.Errorf("evaluation %d: %w", i, err)
			}
		}
		var bad error
		st := m.Step(b, next)
		if err := errors.Join(trial.Step(ctx, s, st, func() { bad = m.Gradients(st, b.X) }), bad); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// threads trains an epoch of a worker, each thread in a session of its own.
func (d drawn) trainEpoch(ctx context.Context, f *fleet.Fleet, first *trial.Pulled, epoch int) error {
	errs := make([]error, d.Threads)
	var wg sync.WaitGroup
	for i := range d.Threads {
		m := first
		if i > 0 {
			m = d.Model()
		}
		s, err := first.Trainer.Open(m.List)
		if err != nil {
			return err
		}
		wg.Go(func() {
			err := d.epoch(ctx, s, m, d.Batches(m, f.WorkerIndex(), i, epoch))
			errs[i] = errors.Join(err, s.Close(ctx))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return first.Trainer.EndEpoch(ctx)
}

// leg is one job: both epochs with a checkpoint between them, or from that checkpoint the second.
type drawnLeg struct {
	drawn
	load, checkpoint, meanwhile string
	begun, ended                string // models
}

func (l drawnLeg) run(ctx context.Context, f *fleet.Fleet) error {
	f.Pin(1)
	m, err := l.Build(f)
	if err != nil {
		return err
	}
	return trial.Begin(ctx, f, l.load, func() error { return l.epochs(ctx, f, m) })
}

func (l drawnLeg) epochs(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) error {
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
func (l drawnLeg) move(f *fleet.Fleet, m *trial.Pulled) error {
	for _, p := range m.List {
		if !p.Frozen || p.Embedding {
			continue
		}
		if err := set(m.Trainer, p.Name, l.moved(p, f.WorkerIndex())); err != nil {
			return err
		}
	}
	return nil
}

// moved are a worker's values of a frozen dense param.
func (l drawnLeg) moved(p *optimizer.Param, worker int) []float32 {
	r := rand.New(rand.NewPCG(l.Seed.N, uint64(1000+worker)))
	w := make([]float32, p.Size())
	for i := range w {
		w[i] = r.Float32() - 0.5
	}
	return w
}

// mean is what all take of moved where they meet.
func (l drawnLeg) mean(p *optimizer.Param) []float32 {
	sum, mean := make([]float64, p.Size()), make([]float32, p.Size())
	for worker := range l.Workers {
		for i, w := range l.moved(p, worker) {
			sum[i] += float64(w)
		}
	}
	for i := range sum {
		mean[i] = float32(sum[i] / float64(l.Workers))
	}
	return mean
}

// together trains an epoch, saving in the middle of it if the job does, and waits for all.
func (l drawnLeg) together(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, epoch int) error {
	var saving error
	var wg sync.WaitGroup
	if l.Resaves && f.ServerNum() > 0 && f.WorkerIndex() == f.WorkerNum()-1 {
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
func (l drawnLeg) model(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, dir string) error {
	if f.WorkerIndex() == 0 {
		if err := f.SaveInferenceModel(ctx, dir, m); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}

// check finds weights that are none, and frozen ones that are not what this worker made of them, where it has made no step since all met,
// nor the mean of what all made.
func (l drawnLeg) check(f *fleet.Fleet, m *trial.Pulled) error {
	fresh := l.drawn.Model()
	for i, p := range m.List {
		for _, w := range p.W {
			if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
				return fmt.Errorf("a weight of %q is %v", p.Name, w)
			}
		}
		if p.Frozen && !p.Embedding && !slices.Equal(p.W, fresh.List[i].W) && !slices.Equal(p.W, l.mean(p)) && !slices.Equal(p.W, l.moved(p, f.WorkerIndex())) {
			return fmt.Errorf("%q is frozen and has changed", p.Name)
		}
	}
	return nil
}
