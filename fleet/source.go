package fleet

import (
	"context"
	"fmt"
	"sort"

	"github.com/gofleet/gofleet/internal/client"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/optimizer/local"
)

// localSource reads the tables of a process that trains alone.
type localSource struct{ t *local.Trainer }

func (s localSource) dense(context.Context) (map[string][]float32, error) {
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

func (s localSource) rows(_ context.Context, name string) ([]uint64, []float32, error) {
	t, ok := s.t.Store().Table(name)
	if !ok {
		return nil, nil, fmt.Errorf("embedding %q is not part of what was minimised", name)
	}
	ids := t.IDs()
	rows := make([]float32, 0, len(ids)*t.Param().Dim())
	for r := range t.RowsOf(ids, s.t.Step()) {
		rows = append(rows, r.W...)
	}
	return ids, rows, nil
}

// clusterSource reads the servers.
type clusterSource struct {
	c *client.Client
	l *layout.Layout
}

func (s clusterSource) dense(ctx context.Context) (map[string][]float32, error) {
	if err := s.c.Settle(ctx); err != nil {
		return nil, err
	}
	return s.c.Dense(ctx)
}

func (s clusterSource) rows(ctx context.Context, name string) ([]uint64, []float32, error) {
	for _, i := range s.l.Embeddings {
		if p := s.l.Params[i]; p.Name == name {
			return s.sortedRows(ctx, i, p.Dim())
		}
	}
	return nil, nil, fmt.Errorf("embedding %q is not part of what was minimised", name)
}

// sortedRows is an embedding's rows by ascending id, whichever servers they come from, so that the file is the same for any
// number of them.
func (s clusterSource) sortedRows(ctx context.Context, param, dim int) ([]uint64, []float32, error) {
	all := rowList{dim: dim}
	err := s.c.Rows(ctx, param, func(ids []uint64, w []float32) error {
		all.ids, all.w = append(all.ids, ids...), append(all.w, w...)
		return nil
	})
	sort.Sort(&all)
	return all.ids, all.w, err
}

// rowList sorts ids together with their rows.
type rowList struct {
	dim int
	ids []uint64
	w   []float32
}

func (r *rowList) Len() int           { return len(r.ids) }
func (r *rowList) Less(i, j int) bool { return r.ids[i] < r.ids[j] }
func (r *rowList) Swap(i, j int) {
	r.ids[i], r.ids[j] = r.ids[j], r.ids[i]
	a, b := r.w[i*r.dim:][:r.dim], r.w[j*r.dim:][:r.dim]
	for k := range a {
		a[k], b[k] = b[k], a[k]
	}
}
