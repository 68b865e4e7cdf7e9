package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestSyncIsTheJoinedTraining draws jobs of sync, and of workers without servers, of uneven epochs and batches, with and without rows,
// sessions that are kept or made anew, gradients of several steps, clips, and a checkpoint that is loaded between: their weights are those
// of one process that trains on the joined batches, computed in float64 by maps.
func TestSyncIsTheJoinedTraining(t *testing.T) {
	t.Parallel()
	trial.EachSeed(t, 60, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			j := drawJoined(seed, t.TempDir())
			defer func() {
				if t.Failed() {
					t.Logf("run it again with FLEET_SEED=%d go test ./fleet -run '^TestSyncIsTheJoinedTraining$'\n%+v", seed.N, j)
				}
			}()
			trial.Cluster(j.Servers, j.Workers).Simulate(t, nil, j.play)
		})
	})
}

// joined is such a job.
type joined struct {
	Servers, Workers int
	Rule             string
	Merge            strategy.GradientMerge
	Clip             float64 // global norm; 0 is none
	Rows             bool
	Epochs           [][]joinedEpoch // by epoch and worker
	Save, Load       int             // behind these epochs, counted from 1; 0 is never
	dir              string
}

type joinedEpoch struct {
	Steps          []joinedStep
	Anew, NextToo  bool // in a new session; the last step names the next epoch's first ids
	Evaluate       bool // before the first step
	Barrier, Among bool // BarrierWorker, or a collective, behind the epoch
}

type joinedStep struct {
	X       float32
	Samples int
	IDs     []uint64
}

func drawJoined(seed trial.Seed, dir string) *joined {
	r := rand.New(rand.NewPCG(seed.N, 11))
	j := &joined{Servers: r.IntN(3), Workers: 1 + r.IntN(4), Rows: r.IntN(3) > 0, dir: dir,
		Rule: []string{"sgd", "momentum", "decayed_adagrad", "adagrad"}[r.IntN(4)]}
	if r.IntN(2) == 0 {
		j.Merge = strategy.GradientMerge{KSteps: 2 + r.IntN(2), Sum: r.IntN(4) == 0}
	}
	if r.IntN(2) == 0 {
		j.Clip = 0.3 + r.Float64()
	}
	barrier, among := r.IntN(2) == 0, r.IntN(3) == 0
	j.Epochs = make([][]joinedEpoch, 2+r.IntN(3))
	for e := range j.Epochs {
		for range j.Workers {
			of := joinedEpoch{Anew: r.IntN(3) == 0, NextToo: r.IntN(2) == 0, Evaluate: r.IntN(4) == 0, Barrier: barrier, Among: among}
			for range r.IntN(6) {
				// Gradients are not cut to ±1: those that then cancel out make 0 here and 3e-8 there, of which Adagrad makes a step.
				s := joinedStep{X: r.Float32()*0.6 - 0.3, Samples: 1 + r.IntN(5)}
				if j.Rows {
					for id := range uint64(5) {
						if r.IntN(2) == 0 {
							s.IDs = append(s.IDs, id)
						}
					}
				}
				of.Steps = append(of.Steps, s)
			}
			j.Epochs[e] = append(j.Epochs[e], of)
		}
	}
	if j.Servers > 0 && r.IntN(2) == 0 {
		j.Save = 1 + r.IntN(len(j.Epochs))
		j.Load = j.Save + r.IntN(len(j.Epochs)+1-j.Save)
	}
	return j
}

const joinedRate = 0.05

func (j *joined) rule() (rule optimizer.Rule) {
	switch j.Rule {
	case "sgd":
		rule = optimizer.SGD{LR: joinedRate}
	case "momentum":
		rule = optimizer.Momentum{LR: joinedRate}
	case "adagrad":
		rule = optimizer.Adagrad{LR: joinedRate}
	default:
		rule = optimizer.DecayedAdagrad{LR: joinedRate}
	}
	if j.Clip > 0 {
		rule = optimizer.ClipByGlobalNorm{Rule: rule, Norm: j.Clip}
	}
	return rule
}

func (j *joined) model() *trial.Pulled {
	m := &trial.Pulled{Objective: trial.Objective{List: []*optimizer.Param{trial.Dense("w", nil, 5)}}}
	if j.Rows {
		m.List = append(m.List, trial.Embedding("rows", nil, 0, 2))
	}
	return m
}

func (j *joined) play(ctx context.Context, f *fleet.Fleet) error {
	m := j.model()
	return trial.Play(ctx, f, m, j.rule(), strategy.Strategy{Mode: strategy.ModeSync, GradientMerge: j.Merge}, func() error {
		s, err := m.OpenSession()
		if err != nil {
			return err
		}
		for e := range j.Epochs {
			if s, err = j.epoch(ctx, f, m, s, e); err != nil {
				return fmt.Errorf("epoch %d: %w", e, err)
			}
		}
		if err := errors.Join(s.Close(ctx), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return m.InSession(ctx, func(s optimizer.Session) error { return j.holds(ctx, m, s) })
	})
}

func (j *joined) epoch(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, s optimizer.Session, e int) (optimizer.Session, error) {
	own := j.Epochs[e][f.WorkerIndex()]
	if own.Anew {
		if err := s.Close(ctx); err != nil {
			return nil, err
		}
		m.List = slices.Clone(m.List)
		for i, p := range j.model().List {
			m.List[i] = p
		}
		var err error
		if s, err = m.OpenSession(); err != nil {
			return nil, err
		}
	}
	if own.Evaluate {
		if err := trial.Look(ctx, s, j.rows(m)...); err != nil {
			return nil, err
		}
	}
	for i, step := range own.Steps {
		var next *trial.Batch
		if i+1 < len(own.Steps) {
			next = own.Steps[i+1].batch()
		} else if own.NextToo && e+1 < len(j.Epochs) && len(j.Epochs[e+1][f.WorkerIndex()].Steps) > 0 {
			next = j.Epochs[e+1][f.WorkerIndex()].Steps[0].batch()
		}
		st := m.Step(*step.batch(), next)
		if err := s.Begin(ctx, st); err != nil {
			return nil, err
		}
		if err := m.Gradients(st, step.X); err != nil {
			return nil, err
		}
		if err := s.End(ctx, st); err != nil {
			return nil, err
		}
	}
	return s, j.between(ctx, f, m, e, own)
}

func (s joinedStep) batch() *trial.Batch {
	return &trial.Batch{X: s.X, Samples: s.Samples, IDs: [][]uint64{s.IDs}}
}

func (j *joined) rows(m *trial.Pulled) (all []optimizer.Rows) {
	if j.Rows {
		all = append(all, trial.RowsOf(m.List[1], []uint64{0, 1, 2, 3, 4}))
	}
	return all
}

// between ends an epoch, and may save and load.
func (j *joined) between(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, e int, own joinedEpoch) (err error) {
	err = m.Trainer.EndEpoch(ctx)
	if own.Barrier {
		err = errors.Join(err, f.BarrierWorker(ctx))
	}
	if own.Among {
		_, failed := f.AllReduceInts(ctx, []int64{1}, fleet.Sum)
		err = errors.Join(err, failed)
	}
	if err == nil && e+1 == j.Save {
		if err = f.BarrierWorker(ctx); err == nil && f.IsFirstWorker() {
			err = f.SavePersistables(ctx, j.dir)
		}
		err = errors.Join(err, f.BarrierWorker(ctx))
	}
	if err == nil && e+1 == j.Load {
		if f.IsFirstWorker() {
			err = f.LoadModel(ctx, j.dir)
		}
		err = errors.Join(err, f.BarrierWorker(ctx))
	}
	return err
}

// holds compares the job's weights with the twin's.
func (j *joined) holds(ctx context.Context, m *trial.Pulled, s optimizer.Session) error {
	rows := j.rows(m)
	if err := trial.Look(ctx, s, rows...); err != nil {
		return err
	}
	twin := j.twin()
	near := func(what string, got []float32, want []float64) error {
		for i := range got {
			if math.Abs(float64(got[i])-want[i]) > 2e-4 {
				return fmt.Errorf("%s is %v, one process that trains on the joined batches has %.5f", what, got, want)
			}
		}
		return nil
	}
	if err := near("w", m.List[0].W, twin["w"].w); err != nil {
		return err
	}
	for _, r := range rows {
		for i, id := range r.IDs {
			want := []float64{0, 0}
			if t := twin[fmt.Sprint(id)]; t != nil {
				want = t.w
			}
			if err := near(fmt.Sprintf("row %d", id), r.W[2*i:2*i+2], want); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinedWeights are a variable or row of the twin, with its rule's state.
type joinedWeights struct{ w, state []float64 }

// joinedModel is the twin's model: "w", and rows by id.
type joinedModel map[string]*joinedWeights

// twin trains it.
func (j *joined) twin() joinedModel {
	m := joinedModel{"w": {make([]float64, 5), make([]float64, 5)}}
	saved := joinedModel{}
	k := max(j.Merge.KSteps, 1)
	for e, of := range j.Epochs {
		most := 0
		for _, own := range of {
			most = max(most, (len(own.Steps)+k-1)/k)
		}
		for push := range most {
			g, samples := map[string][]float64{}, 0
			for _, own := range of {
				if push*k >= len(own.Steps) {
					continue
				}
				merged, n := j.merged(m, own.Steps[push*k:min((push+1)*k, len(own.Steps))])
				samples += n
				add(g, merged, float64(n))
			}
			j.update(m, g, float64(samples))
		}
		if e+1 == j.Save {
			for name, w := range m {
				saved[name] = &joinedWeights{slices.Clone(w.w), slices.Clone(w.state)}
			}
		}
		if e+1 == j.Load {
			clear(m)
			for name, w := range saved {
				m[name] = &joinedWeights{slices.Clone(w.w), slices.Clone(w.state)}
			}
		}
	}
	return m
}

func add(to, g map[string][]float64, by float64) {
	for name, v := range g {
		if to[name] == nil {
			to[name] = make([]float64, len(v))
		}
		for i := range v {
			to[name][i] += by * v[i]
		}
	}
}

// merged is the gradient of some steps of a worker: their mean by samples, or their sum.
func (j *joined) merged(m joinedModel, steps []joinedStep) (g map[string][]float64, samples int) {
	g = map[string][]float64{}
	for _, s := range steps {
		samples += s.Samples
	}
	for _, s := range steps {
		own := map[string][]float64{"w": pulledTo(m["w"].w, s.X)}
		all := []float64{}
		for _, id := range s.IDs { // the third element of a batch's rows is further away, as trial.Pulled has it
			w := m[fmt.Sprint(id)]
			if w == nil {
				w = &joinedWeights{make([]float64, 2), make([]float64, 2)}
				m[fmt.Sprint(id)] = w
			}
			all = append(all, w.w...)
		}
		far := pulledTo(all, s.X)
		for i, id := range s.IDs {
			own[fmt.Sprint(id)] = far[2*i : 2*i+2]
		}
		by := float64(s.Samples) / float64(samples)
		if j.Merge.Sum {
			by = 1
		}
		add(g, own, by)
	}
	return g, samples
}

// pulledTo is the gradient of trial.Pulled.
func pulledTo(w []float64, x float32) []float64 {
	g := make([]float64, len(w))
	for i := range g {
		g[i] = max(-1, min(w[i]-float64(x)+float64(i%3)/4, 1))
	}
	return g
}

// update applies the mean of a round's gradients.
func (j *joined) update(m joinedModel, g map[string][]float64, samples float64) {
	norm := 0.0
	for _, v := range g {
		for i := range v {
			v[i] /= samples
			norm += v[i] * v[i]
		}
	}
	by := 1.0
	if norm = math.Sqrt(norm); j.Clip > 0 && norm > j.Clip {
		by = j.Clip / norm
	}
	for name, v := range g {
		t := m[name]
		for i := range v {
			g := v[i] * by
			switch s := &t.state[i]; j.Rule {
			case "sgd":
				t.w[i] -= joinedRate * g
			case "momentum":
				*s = 0.9**s + g
				t.w[i] -= joinedRate * *s
			case "adagrad":
				*s += g * g
				t.w[i] -= joinedRate * g / (math.Sqrt(*s) + 1e-6)
			default:
				*s = 0.95**s + 0.05*g*g
				t.w[i] -= joinedRate * g / (math.Sqrt(*s) + 1e-6)
			}
		}
	}
}
