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

func (s localSource) rows(ctx context.Context, name string) (ids []uint64, rows []float32, err error) {
	err = s.each(ctx, name, func(id []uint64, w []float32) error {
		ids, rows = append(ids, id...), append(rows, w...)
		return nil
	})
	return ids, rows, err
}

func (s localSource) each(_ context.Context, name string, do func([]uint64, []float32) error) error {
	t, ok := s.t.Store().Table(name)
	if !ok {
		return notMinimised(name)
	}
	id := make([]uint64, 1)
	for r := range t.Rows(s.t.Step()) {
		id[0] = r.ID
		if err := do(id, r.W); err != nil {
			return err
		}
	}
	return nil
}

func notMinimised(name string) error {
	return fmt.Errorf("embedding %q is not part of what was minimised", name)
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
	var all rowList
	err := s.scan(ctx, name, func(ids []uint64, w []float32) error {
		all.ids, all.w, all.dim = append(all.ids, ids...), append(all.w, w...), len(w)/len(ids)
		return nil
	})
	sort.Sort(&all) // so that the file is the same for any number of servers
	return all.ids, all.w, err
}

// each is scan, after everything that this worker has trained has arrived.
func (s clusterSource) each(ctx context.Context, name string, do func([]uint64, []float32) error) error {
	if err := s.c.Settle(ctx); err != nil {
		return err
	}
	return s.scan(ctx, name, do)
}

func (s clusterSource) scan(ctx context.Context, name string, do func([]uint64, []float32) error) error {
	for _, i := range s.l.Embeddings {
		if s.l.Params[i].Name == name {
			return s.c.Rows(ctx, i, do)
		}
	}
	return notMinimised(name)
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
