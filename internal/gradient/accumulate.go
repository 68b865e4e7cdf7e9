package gradient

import (
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Accumulator merges k steps of a training thread into one,
//
//	Σ nᵢgᵢ / Σ nᵢ over the k steps, or Σ gᵢ for a sum
//
// for variables and, by id, for rows. It comes before all other stages: the guard, clipping and narrowing act on the
// merged step, as on that of a batch k times as large.
type Accumulator struct {
	params []*optimizer.Param
	tables []*optimizer.Param // the embeddings among them
	sum    bool

	steps  int
	thread int // the thread of the steps, of of threads
	of     int
	number uint64 // of the last step
	loss   float64
	total  Step // sums
	folder Folder
	clicks []float32        // of the rows that are being added
	out    []optimizer.Rows // by embedding
	step   optimizer.Step   // what Take returns
}

// NewAccumulator returns an accumulator for steps of params: of their sum, or of their mean weighted by samples.
func NewAccumulator(params []*optimizer.Param, sum bool) *Accumulator {
	a := &Accumulator{params: params, tables: tables(params), sum: sum, total: NewStep(params)}
	for _, p := range a.tables {
		a.out = append(a.out, optimizer.Rows{Param: p})
	}
	return a
}

// Steps returns how many steps have been added since the last Take.
func (a *Accumulator) Steps() int { return a.steps }

// Add adds a step. It returns an error if a row's shows and clicks are not valid.
func (a *Accumulator) Add(st *optimizer.Step) error {
	n := float32(st.Samples)
	if a.sum {
		n = 1
	}
	for e := range a.tables {
		if err := a.addRows(e, rowsOf(st.Rows, e, a.tables[e].Name), n); err != nil {
			return err
		}
	}
	for i, sum := range a.total.Dense {
		if sum != nil {
			kernels.Axpy(n, a.params[i].G, sum)
		}
	}
	a.thread, a.of, a.number = st.Thread, st.Threads, st.Number
	a.steps++
	a.total.Samples += st.Samples
	a.loss += st.Loss * float64(st.Samples)
	return nil
}

// addRows adds rows of an embedding. If its table counts shows, each row without counts is one show, so that shows of
// several steps add up.
func (a *Accumulator) addRows(e int, r *optimizer.Rows, n float32) error {
	if r == nil {
		return nil
	}
	if err := r.CheckCounts(); err != nil {
		return err
	}
	p, sum, rows := a.tables[e], &a.total.Rows[e], Rows{IDs: r.IDs, G: r.G}
	if p.Entry.Counts() {
		a.clicks = appendPairs(a.clicks[:0], r)
		rows.Clicks = a.clicks
	}
	both, factors := [2]Rows{*sum, rows}, [2]float32{1, n}
	sum.Set(a.folder.Fold(p, both[:], factors[:], strategy.WeightSamples))
	return nil
}

// Take returns the step that all added steps make together, with the gradients of variables in G of the params, and the
// next ids of the step last. The result is valid until the next Add, which begins a new sum.
func (a *Accumulator) Take(last *optimizer.Step) *optimizer.Step {
	samples, scale := a.total.Samples, float32(1)
	if !a.sum {
		scale = 1 / float32(max(1, samples))
	}
	for i, sum := range a.total.Dense {
		if sum != nil {
			copy(a.params[i].G, sum)
			kernels.Scale(scale, a.params[i].G)
			clear(sum)
		}
	}
	for e, p := range a.tables {
		r, out := &a.total.Rows[e], &a.out[e]
		kernels.Scale(scale, r.G)
		r.Into(out)
		r.IDs, r.G, r.Clicks = r.IDs[:0], r.G[:0], r.Clicks[:0]
		if out.Next = nil; last != nil {
			if of := rowsOf(last.Rows, e, p.Name); of != nil {
				out.Next = of.Next
			}
		}
	}
	a.step = optimizer.Step{Samples: samples, Loss: a.loss / float64(max(1, samples)), Thread: a.thread, Threads: a.of,
		Number: a.number, Rows: a.out}
	if last != nil {
		a.step.Settle = last.Settle
	}
	if last != nil {
		a.step.Beside = last.Beside
	}
	a.steps, a.total.Samples, a.loss = 0, 0, 0
	return &a.step
}

// Empty returns a step with as many samples as were added and no rows: Flush begins its step with it, since it needs no
// rows from the servers.
func (a *Accumulator) Empty() *optimizer.Step {
	st := &optimizer.Step{Samples: a.total.Samples}
	for _, p := range a.tables {
		st.Rows = append(st.Rows, optimizer.Rows{Param: p})
	}
	return st
}
