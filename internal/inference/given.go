package inference

import (
	"context"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/optimizer"
)

// givenWeights are those of a cut with rows that nobody has trained: of some embeddings the first ones are there in any case, with their
// initial values, since the model's graph does not tell these.
type givenWeights struct {
	backend.Weights
	params map[string]*optimizer.Param
	given  map[string]int
}

// withGiven adds the rows that a model asks for.
func withGiven(w backend.Weights, m optimizer.Model) backend.Weights {
	asks, ok := m.(interface{ Given(p *optimizer.Param) int })
	if !ok {
		return w
	}
	g := givenWeights{w, map[string]*optimizer.Param{}, map[string]int{}}
	for _, p := range m.Params() {
		if n := asks.Given(p); p.Embedding && n > 0 {
			g.params[p.Name], g.given[p.Name] = p, n
		}
	}
	return g
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

// givenPage is how many rows are written at a time.
const givenPage = 1024

// beyond are those of ascending ids that are not among the first n.
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
	born := func(upTo uint64) error { // the rows from next on that the tables have not got
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
