package nn

import (
	"cmp"
	bin "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/gofleet/gofleet/internal/modelfiles"
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
func loadTable(f *modelfiles.Files, p *optimizer.Param) (*loadedTable, error) {
	n, err := f.RowCount(p.Name)
	if err != nil {
		return nil, err
	}
	t := &loadedTable{dim: p.Dim(), ids: make([]uint64, 0, n), rows: make([]float32, 0, n*p.Dim())}
	err = f.Rows(p.Name, func(ids []uint64, w []float32) error {
		if len(w) != len(ids)*t.dim {
			return fmt.Errorf("its rows have %d numbers, the graph's %d", len(w)/len(ids), t.dim)
		}
		t.ids, t.rows = append(t.ids, ids...), append(t.rows, w...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, t.index()
}

// loadedTable has the rows of a saved embedding.
type loadedTable struct {
	dim   int
	ids   []uint64
	rows  []float32
	order []int // positions by increasing id; nil when ids increase already
}

// index makes rows be found. None may come twice: which counts would not be known.
func (t *loadedTable) index() error {
	if !slices.IsSorted(t.ids) {
		t.order = make([]int, len(t.ids))
		for i := range t.order {
			t.order[i] = i
		}
		slices.SortFunc(t.order, func(a, b int) int { return cmp.Compare(t.ids[a], t.ids[b]) })
	}
	for i := 1; i < len(t.ids); i++ {
		if id := t.ids[t.at(i)]; id == t.ids[t.at(i-1)] {
			return fmt.Errorf("the row of id %d comes twice: remove one", id)
		}
	}
	return nil
}

// at is where the row with the i-th id in increasing order lies.
func (t *loadedTable) at(i int) int {
	if t.order == nil {
		return i
	}
	return t.order[i]
}

// find is where the row of an id lies.
func (t *loadedTable) find(id uint64) (int, bool) {
	if t.order == nil {
		return search(t.ids, id)
	}
	i, ok := slices.BinarySearchFunc(t.order, id, func(at int, id uint64) int { return cmp.Compare(t.ids[at], id) })
	if !ok {
		return 0, false
	}
	return t.order[i], true
}

// search finds an id among increasing ids. Ids are mostly hashes, or all below some number: where one of them is
// can be guessed from what lies at both ends, which takes a few looks into memory, where halving takes twenty. What
// guesses leave is halved.
func search(ids []uint64, id uint64) (int, bool) {
	lo, hi := 0, len(ids)
	for range 4 {
		if hi-lo < 16 || id < ids[lo] || id > ids[hi-1] {
			break
		}
		share := float64(id-ids[lo]) / float64(ids[hi-1]-ids[lo])
		at := min(lo+int(share*float64(hi-1-lo)), hi-1)
		switch {
		case ids[at] == id:
			return at, true
		case ids[at] < id:
			lo = at + 1
		default:
			hi = at
		}
	}
	at, found := slices.BinarySearch(ids[lo:hi], id)
	return lo + at, found
}

// rowsAtOnce is how many rows a table gives at a time.
const rowsAtOnce = 4096

// EachRow implements [optimizer.RowSource].
func (t *loadedTable) EachRow(do func(ids []uint64, w []float32) error) error {
	for at := 0; at < len(t.ids); at += rowsAtOnce {
		end := min(at+rowsAtOnce, len(t.ids))
		if err := do(t.ids[at:end], t.rows[at*t.dim:end*t.dim]); err != nil {
			return err
		}
	}
	return nil
}

// String implements [optimizer.RowSource].
func (t *loadedTable) String() string {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_ = t.EachRow(func(ids []uint64, w []float32) error { // a hash takes everything
		return errors.Join(bin.Write(sum, bin.LittleEndian, ids), bin.Write(sum, bin.LittleEndian, w))
	})
	return fmt.Sprintf("%d loaded rows (sum %08x)", len(t.ids), sum.Sum32())
}

// Row implements rowSource.
func (t *loadedTable) Row(w []float32, id uint64) bool {
	i, ok := t.find(id)
	if ok {
		copy(w, t.rows[i*t.dim:(i+1)*t.dim])
	}
	return ok
}
