package twin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// mirror is a job with two tables that get the same gradients, for ids that lie on different servers: in each cut that
// is taken while workers train both are equal.
type mirror struct {
	leg     twin.Leg
	entry   optimizer.Entry
	rule    optimizer.Rule
	dim     int
	threads int
	steps   int
	acts    []string // of worker 0, beside its training
	seed    uint64
	dir     string

	mu    sync.Mutex // guards what follows
	cuts  int
	wrong []error
}

// other is the id in table b that mirrors one in a.
func other(id uint64) uint64 { return id*7919 + 13 }

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// newMirror draws a job whose servers, workers and strategy are those of a leg of the twin; nil where it has none with servers.
func newMirror(seed uint64) *mirror {
	p, r := twin.Draw(seed), rand.New(rand.NewPCG(seed, 41))
	i := slices.IndexFunc(p.Legs, func(l twin.Leg) bool { return l.Servers > 0 && l.Strategy.DelayCompensation == 0 })
	if i < 0 {
		return nil
	}
	m := &mirror{leg: p.Legs[i], seed: seed, dim: choose(r, 1, 2, 5, 300), threads: 1, steps: 15 + r.IntN(20)}
	s := &m.leg.Strategy
	s.NotFinite, s.Recovery = "", strategy.Recovery{Every: strategy.Duration(200 * time.Millisecond), Deltas: choose(r, 0, 2)}
	if s.Mode == strategy.ModeAsync || s.Mode == strategy.ModeHalfAsync || s.Mode == strategy.ModeGeo {
		m.threads = 1 + r.IntN(3)
	}
	m.rule = optimizer.SGD{LR: 1} // whose sums are the same in whatever order servers get pushes
	if s.Mode == strategy.ModeSync {
		m.rule = choose[optimizer.Rule](r, m.rule, optimizer.Adagrad{LR: 0.1}, optimizer.SparseAdagrad{LR: 0.1}, optimizer.Momentum{LR: 0.1})
	}
	ordered := m.leg.Workers*m.threads == 1 && s.ThreadPoolSize <= 1 // else servers differ in which push is an id's first
	if s.Mode == strategy.ModeSync || ordered && s.Mode != strategy.ModeGeo {
		m.entry = choose(r, optimizer.Entry{}, optimizer.Entry{CountFilter: 2},
			optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.25}})
	}
	for range 3 + r.IntN(5) {
		m.acts = append(m.acts, choose(r, "base", "delta", "delta", "model", "save", "batch", "shrink", "load", "checkpoint"))
	}
	return m
}

func (m *mirror) graph() (loss, pred *nn.Node) {
	g := nn.NewGraph(1)
	x := g.Input("x", 1)
	table := func(name string) (rows, sum *nn.Node) {
		rows = nn.Embedding(g.IDs("ids of "+name, 2), nn.EmbeddingOptions{Name: name, Dim: m.dim, Init: optimizer.Constant{}, Entry: m.entry})
		return rows, nn.Mean(nn.Multiply(nn.Sum(nn.Reshape(rows, 2, m.dim), 1), x))
	}
	a, sumOfA := table("a")
	b, sumOfB := table("b")
	w := nn.Linear(x, 1, nn.LinearOptions{Name: "w"})
	loss = nn.Add(nn.Scale(nn.Add(sumOfA, sumOfB), -1, 0), nn.Scale(nn.Mean(nn.Square(w)), 0.1, 0))
	return loss, nn.Concat(a, b, w)
}

type rowsByTable = map[string]map[uint64][]float32

// holds notes what differs in a cut.
func (m *mirror) holds(what string, rows rowsByTable, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cuts++
	if err == nil && len(rows["a"]) != len(rows["b"]) {
		err = fmt.Errorf("%d rows of a, %d of b", len(rows["a"]), len(rows["b"]))
	}
	for id, w := range rows["a"] {
		if mirrored := rows["b"][other(id)]; err == nil && !slices.EqualFunc(mirrored, w, m.alike) {
			err = fmt.Errorf("row %d of a is %.6v, its mirror %.6v", id, w[:1], mirrored[:min(1, len(mirrored))])
		}
	}
	if err != nil {
		m.wrong = append(m.wrong, fmt.Errorf("%s: %w", what, err))
	}
}

// alike says whether two weights are equal but for the order in which servers have added the gradients of several workers, each of which
// moves a weight by a hundredth or more.
func (m *mirror) alike(a, b float32) bool {
	return a == b || m.leg.Strategy.Mode != strategy.ModeSync && math.Abs(float64(a-b)) < 1e-4*(1+math.Abs(float64(a)))
}

// saved are the rows of a model with its deltas.
func saved(dirs ...string) (rowsByTable, error) {
	mod, err := serve.Load(dirs[0], dirs[1:]...)
	if err != nil {
		return nil, err
	}
	all := rowsByTable{"a": {}, "b": {}}
	for _, p := range mod.Graph.Params() {
		if !p.Embedding {
			continue
		}
		err = errors.Join(err, p.Rows.EachRow(func(ids []uint64, w []float32) error {
			for i, id := range ids {
				all[p.Name][id] = slices.Clone(w[i*p.Dim():][:p.Dim()])
			}
			return nil
		}))
	}
	return all, err
}

func rowsOf(ctx context.Context, f *fleet.Fleet) (rowsByTable, error) {
	all := rowsByTable{"a": {}, "b": {}}
	for name := range all {
		for row, err := range f.Rows(ctx, name) {
			if err != nil {
				return nil, err
			}
			all[name][row.ID] = slices.Clone(row.W)
		}
	}
	return all, nil
}

// restored are the rows of a checkpoint, as a process alone reads it.
func (m *mirror) restored(ctx context.Context, dir string) (rowsByTable, error) {
	f, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	loss, _ := m.graph()
	opt, err := f.DistributedOptimizer(m.rule, strategy.Sync())
	if err == nil {
		err = errors.Join(opt.Minimize(loss), f.Restore(ctx, dir, fleet.RestoreOptions{}), f.InitWorker(ctx))
	}
	if err != nil {
		return nil, err
	}
	return rowsOf(ctx, f)
}

// beside is what worker 0 does while all train.
func (m *mirror) beside(ctx context.Context, f *fleet.Fleet, pred *nn.Node, trained chan struct{}) (chain []string, err error) {
	r, last := rand.New(rand.NewPCG(m.seed, 42)), ""
	for n, do := range append(slices.Clone(m.acts), "delta", "save") {
		if n < len(m.acts) {
			time.Sleep(time.Duration(20+r.IntN(300)) * time.Millisecond)
		} else if n == len(m.acts) { // the last are of all that was trained
			<-trained
			if err := f.BarrierWorker(ctx); err != nil {
				return nil, err
			}
		}
		at := filepath.Join(m.dir, fmt.Sprintf("%d-%s", n, do))
		switch do {
		case "base", "delta":
			if chain, err = m.publish(ctx, f, pred, do, at, chain); err == nil {
				rows, err := saved(chain...)
				m.holds(at, rows, err)
			}
		case "model":
			if err = f.SaveInferenceModel(ctx, at, nn.Inference(pred)); err == nil {
				rows, err := saved(at)
				m.holds(at, rows, err)
			}
		case "save", "batch":
			if last = at; do == "save" {
				err = f.SavePersistables(ctx, at)
			} else {
				_, err = f.SaveModel(ctx, at, fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Unseen: 1}})
			}
			if err == nil {
				rows, err := m.restored(ctx, at)
				m.holds(at, rows, err)
			}
		case "shrink":
			_, err = f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1})
		case "checkpoint":
			err = f.Checkpoint(ctx)
		case "load":
			if last != "" {
				chain, err = nil, f.LoadModel(ctx, last)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", do, err)
		}
	}
	return chain, nil
}

// publish saves a base, or a delta where there is one to follow.
func (m *mirror) publish(ctx context.Context, f *fleet.Fleet, pred *nn.Node, mode, at string, chain []string) ([]string, error) {
	o := fleet.SaveOptions{Model: nn.Inference(pred), Mode: fleet.SaveBase}
	if m.entry.ShowClick.Threshold > 0 {
		o.BaseThreshold, o.DeltaKeepDays = -1, -1
	}
	if mode == "delta" {
		d := o
		if d.Mode = fleet.SaveDelta; m.entry.ShowClick.Threshold > 0 {
			d.DeltaThreshold = -1
		}
		if _, err := f.SaveModel(ctx, at, d); !errors.Is(err, fleet.ErrNoBase) {
			return append(chain, at), err
		}
	}
	_, err := f.SaveModel(ctx, at, o)
	return []string{at}, err
}

// batches are those of a thread.
func (m *mirror) batches(worker, thread int) iter.Seq2[map[string]*tensor.Dense, error] {
	return func(yield func(map[string]*tensor.Dense, error) bool) {
		r := rand.New(rand.NewPCG(m.seed, uint64(1000+10*worker+thread)))
		for range m.steps {
			var a, b []uint64
			var x []float32
			for range choose(r, 1, 2, 4) {
				for range 2 {
					id := uint64(r.IntN(15))
					a, b = append(a, id), append(b, other(id))
				}
				x = append(x, float32(1+r.IntN(4)))
			}
			time.Sleep(time.Duration(1+r.IntN(100)) * time.Millisecond)
			if !yield(map[string]*tensor.Dense{"x": nn.Floats(x, 1), "ids of a": nn.IDs(a, 2), "ids of b": nn.IDs(b, 2)}, nil) {
				return
			}
		}
	}
}

// role is all that a role does.
func (m *mirror) role(ctx context.Context, f *fleet.Fleet) error {
	loss, pred := m.graph()
	opt, err := f.DistributedOptimizer(m.rule, m.leg.Strategy)
	if err == nil {
		err = opt.Minimize(loss)
	}
	if err != nil {
		return err
	}
	if f.IsServer() {
		return errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	me, chain := f.WorkerIndex(), []string(nil)
	var beside sync.WaitGroup
	trained, did := make(chan struct{}), error(nil)
	if me == 0 {
		beside.Go(func() { chain, did = m.beside(ctx, f, pred, trained) })
	}
	if m.threads > 1 {
		_, err = nn.TrainThreads(ctx, loss.Graph(), m.threads, func(thread int) iter.Seq2[map[string]*tensor.Dense, error] {
			return m.batches(me, thread)
		}, nn.TrainOptions{})
	} else {
		_, err = nn.NewExecutor(loss.Graph()).TrainFrom(ctx, m.batches(me, 0), nn.TrainOptions{})
	}
	close(trained)
	if err == nil && me > 0 {
		err = f.BarrierWorker(ctx)
	}
	beside.Wait()
	if err = errors.Join(err, did); err == nil && me == 0 { // nobody trains any more
		served, e := saved(chain...)
		has, other := rowsOf(ctx, f)
		if e = errors.Join(e, other); e == nil && !maps.EqualFunc(served, has, func(a, b map[uint64][]float32) bool {
			return maps.EqualFunc(a, b, slices.Equal)
		}) {
			e = fmt.Errorf("%v has %d and %d rows, which differ from the job's %d and %d", chain, len(served["a"]), len(served["b"]), len(has["a"]), len(has["b"]))
		}
		m.holds("at the end", has, e)
	}
	return errors.Join(err, f.BarrierWorker(ctx), f.StopWorker(ctx))
}

// TestCutsAmidTraining: two tables with the same gradients on different servers are equal in every base, delta, model, batch and checkpoint
// that is saved while workers train, and when they have loaded one and dropped rows meanwhile. The last base with its deltas is the job.
//
// Promise: [G6] two tables with equal gradients are equal in all that is saved while workers train
func TestCutsAmidTraining(t *testing.T) {
	law.Slow(t)
	cuts := 0
	trial.EachSeed(t, 60, func(seed trial.Seed) {
		m := newMirror(seed.N)
		if m == nil {
			return
		}
		m.dir = t.TempDir()
		m.leg.Strategy.Recovery.Dir = filepath.Join(m.dir, "checkpoints")
		synctest.Test(t, func(t *testing.T) {
			// a cut takes a while then, in which others train
			net := transporttest.NewFaulty(transport.NewMemory(), seed.N, transporttest.Faults{Delay: 0.5, Latency: 20 * time.Millisecond})
			var all sync.WaitGroup
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			for name, maker := range m.leg.Roles() {
				all.Go(func() {
					f, err := fleet.New(ctx, maker, fleet.Options{Transport: net})
					if err == nil {
						err = m.role(ctx, f)
						f.Close()
					}
					if err != nil {
						m.holds(name, nil, err)
						cancel()
					}
				})
			}
			all.Wait()
		})
		left, err := os.ReadDir(m.leg.Strategy.Recovery.Dir)
		for _, dir := range left {
			if strings.HasPrefix(dir.Name(), "ckpt-") {
				rows, err := m.restored(t.Context(), filepath.Join(m.leg.Strategy.Recovery.Dir, dir.Name()))
				m.holds(dir.Name(), rows, err)
			}
		}
		if err = errors.Join(append(m.wrong, err)...); err != nil {
			t.Errorf("FLEET_SEED=%d: %v\n%+v, rule %T, entry %+v, dim %d, threads %d, %v", seed.N, err, m.leg.Strategy, m.rule, m.entry, m.dim,
				m.threads, m.acts)
		}
		cuts += m.cuts
	})
	t.Logf("%d cuts", cuts)
}
