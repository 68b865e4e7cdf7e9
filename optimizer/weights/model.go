package weights

import (
	"context"

	"github.com/gofleet/gofleet/internal/modelfiles"
)

// model is the directory of a saved model, as contents.
type model struct{ *modelfiles.Files }

func openModel(ctx context.Context, dir string) (contents, error) {
	f, err := modelfiles.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return model{f}, nil
}

func (m model) names() []string { return m.Names() }

func (m model) shape(name string) ([]int, bool) { return nil, m.Has(name) }

func (m model) array(name string) (Array, error) {
	w, shape, err := m.Dense(name)
	return Array{shape, w}, err
}

func (m model) rows(name string, do func(id uint64, w []float32) error) error {
	return m.Rows(name, func(ids []uint64, w []float32) error {
		dim := len(w) / len(ids)
		for i, id := range ids {
			if err := do(id, w[i*dim:][:dim]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m model) close() error {
	m.Close()
	return nil
}
