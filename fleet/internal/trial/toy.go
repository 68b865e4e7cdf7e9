package trial

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
)

// Toy is a small recommender: dense variables, of which one is large enough to be divided among servers, a table with a
// height and one without. Its gradients are simple functions of the weights and of the batch, and those of a joined
// batch are the mean of its parts'.
type Toy struct {
	Objective
	W, B, Big, Emb, Open *optimizer.Param
	Session              optimizer.Session     // the session of its steps, opened by the first
	Counts               bool                  // steps have shows and clicks of rows
	Spoil                func(*optimizer.Step) // if set, changes every step
}

// NewToy returns a toy with random initial weights and rows.
func NewToy() *Toy {
	init := optimizer.Uniform{Low: -1, High: 1}
	o := &Toy{W: Dense("w", init, 7, 3), B: Dense("b", init, 3), Big: Dense("big", init, 300, 100),
		Emb: Embedding("emb", init, 50_000, 4), Open: Embedding("open", init, 0, 2)}
	o.List = []*optimizer.Param{o.W, o.Emb, o.Big, o.Open, o.B}
	return o
}

// NewShown returns a toy whose tables admit ids by their shows and clicks.
func NewShown() *Toy {
	o := NewToy()
	o.Emb.Entry.ShowClick = optimizer.ShowClick{Threshold: 5, ShowCoeff: 0.5, ClickCoeff: 2}
	o.Open.Entry.ShowClick = optimizer.ShowClick{Threshold: 2.5}
	o.Counts = true
	return o
}

// Sample is a training example of the toy: an id of each table and a number. It shows its ids, and clicks them if the
// number is positive.
type Sample struct {
	Emb, Open uint64
	X         float32
}

// Samples returns n samples, the same for the same arguments.
func Samples(n, seed int) []Sample {
	all := make([]Sample, n)
	for i := range all {
		k := uint64(i*2654435761+seed*977) >> 3
		all[i] = Sample{Emb: (k * 7919) % 50_000, Open: k * 0x9e3779b97f4a7c15, X: float32(k%17)/16 - 0.5}
	}
	return all
}

// FewIDs returns 24 samples with so few ids that they recur.
func FewIDs(step int) []Sample {
	all := Samples(24, step)
	for i := range all {
		all[i].Emb, all[i].Open = all[i].Emb%97, all[i].Open%61
	}
	return all
}

// Share returns a worker's part of 24 samples: equally many for all workers.
func Share(f *fleet.Fleet, step int) []Sample {
	n := 24 / f.WorkerNum()
	return Samples(24, step)[f.WorkerIndex()*n:][:n]
}

// Deal divides samples among workers, and returns this worker's.
func Deal(f *fleet.Fleet, all []Sample) (own []Sample) {
	for i := f.WorkerIndex(); i < len(all); i += f.WorkerNum() {
		own = append(own, all[i])
	}
	return own
}

// idsOf returns the ids of a sample, by table.
var idsOf = []func(Sample) uint64{func(s Sample) uint64 { return s.Emb }, func(s Sample) uint64 { return s.Open }}

// Step returns the step of a batch, with the rows of the next batch if it is known.
func (o *Toy) Step(batch, next []Sample) *optimizer.Step {
	st := &optimizer.Step{Samples: len(batch)}
	for i, p := range []*optimizer.Param{o.Emb, o.Open} {
		r := RowsOf(p, unique(batch, idsOf[i]))
		if next != nil {
			r.Next = unique(next, idsOf[i])
		}
		if o.Counts {
			countShown(&r, batch, idsOf[i])
		}
		st.Rows = append(st.Rows, r)
	}
	if o.Spoil != nil {
		o.Spoil(st)
	}
	return st
}

func unique(batch []Sample, of func(Sample) uint64) (ids []uint64) {
	for _, s := range batch {
		ids = append(ids, of(s))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// countShown sets the shows and clicks of rows.
func countShown(r *optimizer.Rows, batch []Sample, of func(Sample) uint64) {
	r.Show, r.Click = make([]float32, len(r.IDs)), make([]float32, len(r.IDs))
	for _, s := range batch {
		at, _ := slices.BinarySearch(r.IDs, of(s))
		if r.Show[at]++; s.X > 0 {
			r.Click[at]++
		}
	}
}

// Train makes the step of a batch.
func (o *Toy) Train(ctx context.Context, batch, next []Sample) (err error) {
	if o.Session == nil {
		if o.Session, err = o.OpenSession(); err != nil {
			return err
		}
	}
	st := o.Step(batch, next)
	return Step(ctx, o.Session, st, func() { o.Gradients(st, batch) })
}

// Close closes the session, if there is one; the next step opens another.
func (o *Toy) Close(ctx context.Context) error {
	if o.Session == nil {
		return nil
	}
	defer func() { o.Session = nil }()
	return o.Session.Close(ctx)
}

// Gradients fills in the gradients of a step: weight·x for a dense weight, row+x for a row, averaged over the batch.
func (o *Toy) Gradients(st *optimizer.Step, batch []Sample) {
	n := float32(len(batch))
	for _, p := range []*optimizer.Param{o.W, o.B, o.Big} {
		for i, w := range p.W {
			var sum float32
			for _, s := range batch {
				sum += w * s.X
			}
			p.G[i] = sum / n
		}
	}
	for e := range st.Rows {
		r, dim := &st.Rows[e], st.Rows[e].Param.Dim()
		for _, s := range batch {
			at, _ := slices.BinarySearch(r.IDs, idsOf[e](s))
			for d := range dim {
				r.G[at*dim+d] += (r.W[at*dim+d] + s.X) / n
			}
		}
	}
}
