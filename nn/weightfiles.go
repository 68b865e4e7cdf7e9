package nn

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/optimizer"
)

// loadDense reads the weights of a dense parameter.
func loadDense(f *modelfiles.Files, p *optimizer.Param) ([]float32, error) {
	w, shape, err := f.Dense(p.Name)
	if err == nil && !slices.Equal(shape, p.Shape) {
		err = fmt.Errorf("its weights have shape %v, the graph's %v", shape, p.Shape)
	}
	return w, err
}

// loadTable reads the rows of an embedding from all files.
func loadTable(f *modelfiles.Files, p *optimizer.Param) (*overlay.Table, error) {
	n, err := f.RowCount(p.Name)
	if err != nil {
		return nil, err
	}
	return overlay.Read(p.Dim(), n, rowsFrom(f, p))
}

func rowsFrom(f *modelfiles.Files, p *optimizer.Param) overlay.Rows {
	return func(do func(ids []uint64, w []float32) error) error { return f.Rows(p.Name, do) }
}
