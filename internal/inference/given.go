package inference

import (
	"context"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/optimizer"
)

// givenWeights adds untrained rows to a cut's weights: a model's graph may need the first rows of an embedding even if
// they were never trained, and does not contain their initial values.
type givenWeights struct {
	backend.Weights
	params map[string]*optimizer.Param
	given  map[string]int
}

// withGiven adds the rows that a model needs.
func withGiven(w backend.Weights, m optimizer.Model) backend.Weights {
	g := givenWeights{w, map[string]*optimizer.Param{}, map[string]int{}}
	eachGiven(m, func(p *optimizer.Param, n int) { g.params[p.Name], g.given[p.Name] = p, n })
	return g
}

// eachGiven calls do for each embedding of which the model needs the first n rows.
func eachGiven(m optimizer.Model, do func(p *optimizer.Param, n int)) {
	asks, ok := m.(interface{ Given(p *optimizer.Param) int })
	if !ok {
		return
	}
	for _, p := range m.Params() {
		if n := asks.Given(p); p.Embedding && n > 0 {
			do(p, n)
		}
	}
}

func (g givenWeights) Count(ctx context.Context, name string) (int, error) {
	n := g.given[name]
	if n == 0 {
		return g.Weights.Count(ctx, name)
	}
	err := g.Weights.IDs(ctx, name, func(ids []uint64) error {
		n += len(beyond(ids, g.given[name]))
		return nil
	})
	return n, err
}

func (g givenWeights) IDs(ctx context.Context, name string, do func(ids []uint64) error) error {
	n := g.given[name]
	page := make([]uint64, 0, givenPage)
	for id := range uint64(n) {
		if page = append(page, id); len(page) == givenPage || id == uint64(n)-1 {
			if err := do(page); err != nil {
				return err
			}
			page = page[:0]
		}
	}
	return g.Weights.IDs(ctx, name, func(ids []uint64) error {
		if ids = beyond(ids, n); len(ids) == 0 {
			return nil
		}
		return do(ids)
	})
}

// givenPage is how many ids are passed on at a time.
const givenPage = 1024

// beyond returns the ids, ascending, that are not among the first n.
func beyond(ids []uint64, n int) []uint64 {
	for len(ids) > 0 && ids[0] < uint64(n) {
		ids = ids[1:]
	}
	return ids
}

func (g givenWeights) Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error {
	p := g.params[name]
	if p == nil {
		return g.Weights.Rows(ctx, name, do)
	}
	next, row := uint64(0), make([]float32, p.Dim())
	born := func(upTo uint64) error { // the rows from next on that are not in the tables
		for ; next < min(upTo, uint64(g.given[name])); next++ {
			p.InitRow(row, next)
			if err := do([]uint64{next}, row); err != nil {
				return err
			}
		}
		next = upTo + 1
		return nil
	}
	err := g.Weights.Rows(ctx, name, func(ids []uint64, w []float32) error {
		for i, id := range ids {
			if err := born(id); err != nil {
				return err
			}
			if err := do(ids[i:i+1], w[i*p.Dim():][:p.Dim()]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return born(uint64(g.given[name]))
}

// backWeights adds to a delta's weights rows that were dropped but that a model needs: they have their initial values
// again.
type backWeights struct {
	backend.Weights
	params map[string]*optimizer.Param
	back   map[string][]uint64
}

// givenBack adds to a delta the dropped rows that a model needs, and removes their ids from gone.
func givenBack(w backend.Weights, m optimizer.Model, gone map[string][]uint64) backend.Weights {
	b := backWeights{w, map[string]*optimizer.Param{}, map[string][]uint64{}}
	eachGiven(m, func(p *optimizer.Param, n int) {
		rest := beyond(gone[p.Name], n)
		b.params[p.Name], b.back[p.Name] = p, gone[p.Name][:len(gone[p.Name])-len(rest)]
		gone[p.Name] = rest
	})
	return b
}

func (b backWeights) Count(ctx context.Context, name string) (int, error) {
	n, err := b.Weights.Count(ctx, name)
	return n + len(b.back[name]), err
}

func (b backWeights) IDs(ctx context.Context, name string, do func(ids []uint64) error) error {
	err := b.Weights.IDs(ctx, name, do)
	if err != nil || len(b.back[name]) == 0 {
		return err
	}
	return do(b.back[name])
}

func (b backWeights) Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error {
	if err := b.Weights.Rows(ctx, name, do); err != nil {
		return err
	}
	for i, id := range b.back[name] {
		row := make([]float32, b.params[name].Dim())
		b.params[name].InitRow(row, id)
		if err := do(b.back[name][i:i+1], row); err != nil {
			return err
		}
	}
	return nil
}
