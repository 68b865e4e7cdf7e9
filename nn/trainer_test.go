package nn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// keeper is the smallest trainer: plain SGD over a map, with what it was given kept for tests to look at. It checks that the
// executor keeps the contract of a session.
type keeper struct {
	t      testing.TB
	lr     float32
	dense  map[string][]float32
	rows   map[string]map[uint64][]float32
	grads  map[string][]float32            // of the last step, dense
	rowG   map[string]map[uint64][]float32 // of the last step, rows
	asked  map[string][][]uint64           // ids of every step so far
	next   map[string][][]uint64           // and what it said of the step after it
	epochs int
	closed int
	fail   error // what the next Begin returns
}

func newKeeper(t testing.TB, lr float32) *keeper {
	return &keeper{
		t: t, lr: lr, dense: map[string][]float32{}, rows: map[string]map[uint64][]float32{},
		grads: map[string][]float32{}, rowG: map[string]map[uint64][]float32{},
		asked: map[string][][]uint64{}, next: map[string][][]uint64{},
	}
}

// minimise binds a loss to a keeper.
func minimise(t testing.TB, loss *Node, lr float32) *keeper {
	t.Helper()
	k := newKeeper(t, lr)
	loss.Bind(k)
	law.Check(t, loss.Err())
	return k
}

func (k *keeper) Open(params []*optimizer.Param) (optimizer.Session, error) {
	for _, p := range params {
		if err := p.Check(); err != nil {
			return nil, err
		}
		if !p.Embedding && k.dense[p.Name] == nil {
			w := make([]float32, p.Size())
			p.InitDense(w)
			k.dense[p.Name] = w
		}
	}
	return &keeping{k: k, params: params}, nil
}

func (k *keeper) EndEpoch(context.Context) error { k.epochs++; return nil }

// SetDense takes what training computes without gradients.
func (k *keeper) SetDense(name string, w []float32) error {
	k.dense[name] = slices.Clone(w)
	return nil
}

// row is the row of an id, born unless the step only reads.
func (k *keeper) row(p *optimizer.Param, id uint64, eval bool) []float32 {
	table := k.rows[p.Name]
	if w := table[id]; w != nil {
		return w
	}
	w := make([]float32, p.Dim())
	if !eval || p.Height() > 0 {
		p.InitRow(w, id)
	}
	if eval {
		return w
	}
	if table == nil {
		table = map[uint64][]float32{}
		k.rows[p.Name] = table
	}
	table[id] = w
	return w
}

// keeping is a session with a keeper.
type keeping struct {
	k      *keeper
	params []*optimizer.Param
	open   bool
}

func (s *keeping) Begin(_ context.Context, step *optimizer.Step) error {
	k := s.k
	if err := k.fail; err != nil {
		return err
	}
	if s.open {
		k.t.Error("Begin after Begin")
	}
	s.open = true
	for _, p := range s.params {
		if !p.Embedding {
			copy(p.W, k.dense[p.Name])
		}
	}
	s.checkRows(step)
	for _, r := range step.Rows {
		for i, id := range r.IDs {
			copy(r.W[i*r.Param.Dim():], k.row(r.Param, id, step.Eval))
		}
		name := r.Param.Name
		k.asked[name], k.next[name] = append(k.asked[name], slices.Clone(r.IDs)), append(k.next[name], slices.Clone(r.Next))
	}
	return nil
}

// checkRows holds the executor to what Step promises.
func (s *keeping) checkRows(step *optimizer.Step) {
	var want, got []string
	for _, p := range s.params {
		if p.Embedding {
			want = append(want, p.Name)
		}
	}
	for _, r := range step.Rows {
		got = append(got, r.Param.Name)
		for _, ids := range [][]uint64{r.IDs, r.Next} {
			if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
				s.k.t.Errorf("ids of %s are not unique and increasing: %v", r.Param.Name, ids)
			}
		}
		if len(r.W) != len(r.IDs)*r.Param.Dim() || !step.Eval && len(r.G) != len(r.W) {
			s.k.t.Errorf("%s: %d ids with %d weights and %d gradients", r.Param.Name, len(r.IDs), len(r.W), len(r.G))
		}
	}
	if !slices.Equal(want, got) {
		s.k.t.Errorf("the step has tables %v, the session %v", got, want)
	}
}

func (s *keeping) End(_ context.Context, step *optimizer.Step) error {
	if !s.open {
		s.k.t.Error("End without Begin")
	}
	s.open = false
	if step.Eval {
		return nil
	}
	for _, p := range s.params {
		if !p.Embedding && !p.Frozen {
			s.k.grads[p.Name] = slices.Clone(p.G)
			s.k.descend(s.k.dense[p.Name], p.G)
		}
	}
	for _, r := range step.Rows {
		s.endRows(r)
	}
	return nil
}

func (s *keeping) endRows(r optimizer.Rows) {
	dim, grads := r.Param.Dim(), map[uint64][]float32{}
	for i, id := range r.IDs {
		g := slices.Clone(r.G[i*dim : (i+1)*dim])
		grads[id] = g
		s.k.descend(s.k.row(r.Param, id, false), g)
	}
	s.k.rowG[r.Param.Name] = grads
}

func (k *keeper) descend(w, g []float32) {
	for i := range w {
		w[i] -= k.lr * g[i]
	}
}

func (s *keeping) Close(context.Context) error { s.k.closed++; return nil }

// gradient is the last step's gradient of a parameter; of a table its rows in order of ids, zeros where untouched.
func (k *keeper) gradient(name string, size int) []float32 {
	if g := k.grads[name]; g != nil {
		return g
	}
	rows, all := k.rowG[name], make([]float32, size)
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		copy(all[int(id)*len(rows[id]):], rows[id])
	}
	return all
}

func floats(shape []int, data ...float32) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}

func int64sOf(shape []int, data ...int64) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
}

// countsAllocations skips a test under the race detector, with which pools drop what they hold.
func countsAllocations(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("the race detector allocates")
	}
}

type batchOf = map[string]*tensor.Dense

// must runs a training step that has to succeed.
func must(t *testing.T, e *Executor, feed batchOf, fetch ...*Node) []*tensor.Dense {
	t.Helper()
	out, err := e.Train(t.Context(), feed, fetch...)
	law.Check(t, err)
	return out
}

// near compares floats by a relative and an absolute tolerance.
func near(got, want []float32, rel, abs float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := float64(got[i]), float64(want[i])
		if d := g - w; !(d <= abs+rel*max(w, -w) && -d <= abs+rel*max(w, -w)) {
			return fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return nil
}
