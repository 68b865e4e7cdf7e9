package solo

import (
	"context"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer/local"
)

// Cut implements [backend.Trainer].
func (t *Trainer) Cut(_ context.Context, do func(backend.Weights) error) error {
	if err := t.Whole(); err != nil {
		return err
	}
	return t.local.Still(func() error { return do(weights{t.local, map[string][]uint64{}}) })
}

// Rows implements [backend.Trainer].
func (t *Trainer) Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error {
	if err := t.Whole(); err != nil {
		return err
	}
	return weights{t.local, map[string][]uint64{}}.Rows(ctx, name, do)
}

// weights implements [backend.Weights]. It belongs to one call, on one goroutine.
type weights struct {
	t *local.Trainer
	// listed are the ids of the tables that were listed: new rows may appear meanwhile.
	listed map[string][]uint64
}

// Dense implements [backend.Weights]. It copies every block, since steps may change the tables after the caller has
// returned.
func (s weights) Dense(context.Context) (map[string][]float32, error) {
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

// list returns a table and the ids of its rows, ascending. The first call for a table lists them; Serve fills in the
// rows that a model for serving contains.
func (s weights) list(name string) (*table.Sparse, []uint64, error) {
	t, ok := s.t.Store().Table(name)
	if !ok {
		return nil, nil, backend.NoEmbedding(name)
	}
	ids, ok := s.listed[name]
	if !ok {
		ids = t.IDs()
		s.listed[name] = ids
	}
	return t, ids, nil
}

// Count implements [backend.Weights].
func (s weights) Count(_ context.Context, name string) (int, error) {
	_, ids, err := s.list(name)
	return len(ids), err
}

// IDs implements [backend.Weights]: all ids come in one call.
func (s weights) IDs(_ context.Context, name string, do func([]uint64) error) error {
	_, ids, err := s.list(name)
	if err != nil {
		return err
	}
	return do(ids)
}

// Rows implements [backend.Weights]: do gets one row at a time, in memory that is reused.
func (s weights) Rows(ctx context.Context, name string, do func([]uint64, []float32) error) error {
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
