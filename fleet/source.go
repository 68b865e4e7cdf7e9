package fleet

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/client"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer/local"
)

// source is where the weights of a model come from.
type source interface {
	// cut calls do with the weights as they are between two steps, which are held back until it returns.
	cut(ctx context.Context, do func(weights) error) error
	// each calls do with some ids and their rows after the other, which are valid until it returns, while training goes on.
	each(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
}

// weights are those of a cut.
type weights interface {
	// dense returns the weights of the dense params, by name.
	dense(ctx context.Context) (map[string][]float32, error)
	// count, ids and rows read an embedding, by ascending id. Slices are valid until do returns.
	count(ctx context.Context, name string) (int, error)
	ids(ctx context.Context, name string, do func(ids []uint64) error) error
	rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
}

func (f *Fleet) source(call string) (source, error) {
	c, err := f.joined(call)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return localSource{f.local}, nil
	}
	return clusterSource{c, f.job.layout}, nil
}

func notMinimised(name string) error {
	return fmt.Errorf("embedding %q is not part of what was minimised", name)
}

// localSource reads the tables of a process that has the weights itself.
type localSource struct{ t *local.Trainer }

func (s localSource) cut(ctx context.Context, do func(weights) error) error {
	return s.t.Still(func() error { return do(localWeights{s.t, map[string][]uint64{}}) })
}

func (s localSource) each(ctx context.Context, name string, do func([]uint64, []float32) error) error {
	return localWeights{s.t, map[string][]uint64{}}.rows(ctx, name, do)
}

// localWeights are those of a process that has them itself.
type localWeights struct {
	t *local.Trainer
	// listed are the ids of the tables that were looked at: rows may be born meanwhile.
	listed map[string][]uint64
}

func (s localWeights) dense(context.Context) (map[string][]float32, error) {
	all := map[string][]float32{}
	for _, b := range s.t.Store().Blocks {
		w := make([]float32, b.Values.Len())
		if err := b.Values.Pull(w); err != nil {
			return nil, err
		}
		all[b.Name] = w
	}
	return all, nil
}

// list is a table and the ids of its rows.
func (s localWeights) list(name string) (*table.Sparse, []uint64, error) {
	t, ok := s.t.Store().Table(name)
	if !ok {
		return nil, nil, notMinimised(name)
	}
	ids, ok := s.listed[name]
	if !ok {
		ids = t.IDs()
		s.listed[name] = ids
	}
	return t, ids, nil
}

func (s localWeights) count(_ context.Context, name string) (int, error) {
	_, ids, err := s.list(name)
	return len(ids), err
}

func (s localWeights) ids(_ context.Context, name string, do func([]uint64) error) error {
	_, ids, err := s.list(name)
	if err != nil {
		return err
	}
	return do(ids)
}

func (s localWeights) rows(ctx context.Context, name string, do func([]uint64, []float32) error) error {
	t, ids, err := s.list(name)
	if err != nil {
		return err
	}
	id := make([]uint64, 1)
	for r := range t.RowsOf(ids, s.t.Step()) {
		id[0] = r.ID
		if err := do(id, r.W); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// clusterSource reads the servers.
type clusterSource struct {
	c *client.Client
	l *layout.Layout
}

func (s clusterSource) cut(ctx context.Context, do func(weights) error) error {
	return s.c.Cut(ctx, func(k *client.Cut) error { return do(clusterWeights{k, s.l}) })
}

// each begins after everything that this worker has trained has arrived.
func (s clusterSource) each(ctx context.Context, name string, do func([]uint64, []float32) error) error {
	i, err := embeddingOf(s.l, name)
	if err == nil {
		err = s.c.Settle(ctx)
	}
	if err != nil {
		return err
	}
	return s.c.Rows(ctx, i, do)
}

// embeddingOf is where an embedding is among the params.
func embeddingOf(l *layout.Layout, name string) (int, error) {
	for _, e := range l.Embeddings {
		if e.Name == name {
			return e.Index, nil
		}
	}
	return 0, notMinimised(name)
}

// clusterWeights are those of the servers.
type clusterWeights struct {
	k *client.Cut
	l *layout.Layout
}

func (s clusterWeights) dense(ctx context.Context) (map[string][]float32, error) {
	return s.k.Dense(ctx)
}

func (s clusterWeights) count(ctx context.Context, name string) (int, error) {
	i, err := embeddingOf(s.l, name)
	if err != nil {
		return 0, err
	}
	return s.k.Count(ctx, i)
}

func (s clusterWeights) ids(ctx context.Context, name string, do func([]uint64) error) error {
	i, err := embeddingOf(s.l, name)
	if err != nil {
		return err
	}
	return s.k.IDs(ctx, i, do)
}

func (s clusterWeights) rows(ctx context.Context, name string, do func([]uint64, []float32) error) error {
	i, err := embeddingOf(s.l, name)
	if err != nil {
		return err
	}
	return s.k.Rows(ctx, i, do)
}
