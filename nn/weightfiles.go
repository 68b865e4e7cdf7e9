package nn

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/optimizer"
)

// weightFiles are the weights of a saved model.
type weightFiles struct {
	names []string
	files []*safetensors.File
}

func openWeights(dir string) (*weightFiles, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil {
		return nil, err
	}
	w := &weightFiles{}
	for _, name := range names {
		f, err := safetensors.OpenFile(name)
		if err != nil {
			w.close()
			return nil, err
		}
		w.names, w.files = append(w.names, name), append(w.files, f)
	}
	return w, nil
}

func (w *weightFiles) close() {
	for _, f := range w.files {
		f.Close() // read only: nothing is lost
	}
}

// dense reads a dense parameter, which one file alone has to have.
func (w *weightFiles) dense(p *optimizer.Param) ([]float32, error) {
	var found []float32
	for i, f := range w.files {
		info, ok := f.Tensor(p.Name)
		if !ok {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("a second file, %s, has its weights too", w.names[i])
		}
		if !equalShapes(info.Shape, p.Shape) {
			return nil, fmt.Errorf("%s has it with shape %v, the graph with %v", w.names[i], info.Shape, p.Shape)
		}
		var err error
		if found, err = safetensors.Read[float32](f, p.Name); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, fmt.Errorf("none of %d weight files has its weights", len(w.files))
	}
	return found, nil
}

// table reads what all files have of an embedding. One without any row is a table nobody trained.
func (w *weightFiles) table(p *optimizer.Param) (rowSource, error) {
	t := &loadedTable{dim: p.Dim()}
	for i, f := range w.files {
		if _, ok := f.Tensor(p.Name); !ok {
			continue
		}
		part, err := readPart(f, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.names[i], err)
		}
		t.parts = append(t.parts, part)
	}
	return t, nil
}

func readPart(f *safetensors.File, p *optimizer.Param) (part tablePart, err error) {
	if part.ids, err = readIDs(f, p.Name+".ids"); err != nil {
		return part, err
	}
	if part.rows, err = safetensors.Read[float32](f, p.Name); err != nil {
		return part, err
	}
	if len(part.rows) != len(part.ids)*p.Dim() {
		return part, fmt.Errorf("%d numbers for %d rows of %d", len(part.rows), len(part.ids), p.Dim())
	}
	part.index()
	return part, nil
}

func readIDs(f *safetensors.File, name string) ([]uint64, error) {
	info, ok := f.Tensor(name)
	if !ok {
		return nil, errors.New("the ids of its rows are missing: tensor " + name)
	}
	if info.DType == safetensors.U64 {
		return safetensors.Read[uint64](f, name)
	}
	signed, err := safetensors.Read[int64](f, name)
	ids := make([]uint64, len(signed))
	for i, id := range signed {
		ids[i] = uint64(id)
	}
	return ids, err
}

// loadedTable has the rows of a saved embedding.
type loadedTable struct {
	dim   int
	parts []tablePart
}

// tablePart is one file's rows.
type tablePart struct {
	ids   []uint64
	rows  []float32
	order []int32 // positions by increasing id; nil when ids increase already
}

func (t *tablePart) index() {
	if slices.IsSorted(t.ids) {
		return
	}
	t.order = make([]int32, len(t.ids))
	for i := range t.order {
		t.order[i] = int32(i)
	}
	slices.SortStableFunc(t.order, func(a, b int32) int { return cmp.Compare(t.ids[a], t.ids[b]) })
}

// find is the position of an id.
func (t *tablePart) find(id uint64) (int, bool) {
	if t.order == nil {
		return slices.BinarySearch(t.ids, id)
	}
	at, ok := slices.BinarySearchFunc(t.order, id, func(i int32, id uint64) int { return cmp.Compare(t.ids[i], id) })
	if !ok {
		return 0, false
	}
	return int(t.order[at]), true
}

// Row implements rowSource.
func (t *loadedTable) Row(w []float32, id uint64) bool {
	for _, p := range t.parts {
		if i, ok := p.find(id); ok {
			copy(w, p.rows[i*t.dim:(i+1)*t.dim])
			return true
		}
	}
	return false
}
