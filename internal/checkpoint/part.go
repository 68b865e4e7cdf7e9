package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// contents says what lies where in a part; it is the file's metadata under contentsKey.
type contents struct {
	Blocks []blockInfo `json:"blocks"`
	Tables []tableInfo `json:"tables"`
}

type blockInfo struct {
	Param  string `json:"param"`
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	State  int    `json:"state"` // numbers of state
	Step   int64  `json:"step"`
}

type tableInfo struct {
	Param string `json:"param"`
	Dim   int    `json:"dim"`
	State int    `json:"state"` // numbers of state a row
	Rows  int    `json:"rows"`
	// Rated says that the rows have shows and clicks, Waiting how many ids wait for a row.
	Rated   bool `json:"rated,omitempty"`
	Waiting int  `json:"waiting,omitempty"`
	// Clock is the number of periods so far.
	Clock uint32 `json:"clock,omitempty"`
}

const contentsKey = "gofleet"

// disk is where checkpoints are written; tests have one that fails, or remembers.
var disk files.FS = files.OS{}

func (b blockInfo) weights() string {
	return fmt.Sprintf("%s[%d:%d]", b.Param, b.Offset, b.Offset+b.Size)
}
func (b blockInfo) state() string { return b.weights() + ".state" }

func (t tableInfo) ids() string     { return t.Param + ".ids" }
func (t tableInfo) rows() string    { return t.Param + ".rows" }
func (t tableInfo) steps() string   { return t.Param + ".step" }
func (t tableInfo) seen() string    { return t.Param + ".seen" }
func (t tableInfo) updates() string { return t.Param + ".updates" }

// WritePart writes all of store to dir/file, or the params of those names alone. Nothing may push to the store meanwhile; rows born while
// it writes are left out. A ctx that ends ends it.
func WritePart(ctx context.Context, dir, file string, store *table.Store, names ...string) (Part, error) {
	if err := files.Ended(ctx); err != nil {
		return Part{}, fmt.Errorf("checkpoint: part %s: %w", file, err)
	}
	if err := files.MakeDir(disk, dir); err != nil {
		return Part{}, fmt.Errorf("checkpoint: %w", err)
	}
	f, err := files.CreateOn(disk, filepath.Join(dir, file))
	if err != nil {
		return Part{}, fmt.Errorf("checkpoint: %w", err)
	}
	rows, err := writeStore(ctx, f, store, names)
	if err != nil {
		f.Abandon()
		return Part{}, fmt.Errorf("checkpoint: part %s: %w", file, err)
	}
	if err := f.Commit(); err != nil {
		return Part{}, fmt.Errorf("checkpoint: %w", err)
	}
	return Part{File: file, Bytes: f.Size(), Sum: f.Sum(), Rows: rows}, nil
}

// snapshot is what is written of a store: small things copied, rows by their ids.
type snapshot struct {
	contents
	tables  []*table.Sparse
	blocks  [][2][]float32 // weights and state
	ids     [][]uint64
	waiting [][]table.Waiter
}

func snapshotOf(store *table.Store, names []string) snapshot {
	var s snapshot
	for _, b := range store.Blocks {
		if !among(names, b.Param.Name) {
			continue
		}
		w, state, step := b.Values.Snapshot()
		s.blocks = append(s.blocks, [2][]float32{w, state})
		s.Blocks = append(s.Blocks, blockInfo{Param: b.Param.Name, Offset: b.Offset, Size: len(w), State: len(state), Step: step})
	}
	for _, t := range store.Tables {
		if !among(names, t.Param().Name) {
			continue
		}
		ids, waiting := t.IDs(), t.Waiters()
		s.tables = append(s.tables, t)
		s.ids, s.waiting = append(s.ids, ids), append(s.waiting, waiting)
		s.Tables = append(s.Tables, tableInfo{Param: t.Param().Name, Dim: t.Param().Dim(), State: stateLen(t), Rows: len(ids),
			Rated: t.Rated(), Waiting: len(waiting), Clock: t.Clock()})
	}
	return s
}

// among says whether a param is one of those named; without names all are.
func among(names []string, param string) bool {
	return len(names) == 0 || slices.Contains(names, param)
}

func stateLen(t *table.Sparse) int {
	if t.Rule() == nil {
		return 0
	}
	return t.Rule().StateLen(t.Param().Dim())
}

// tensors are those that a part has.
func (c contents) tensors() []safetensors.Tensor {
	var ts []safetensors.Tensor
	for _, b := range c.Blocks {
		ts = append(ts, safetensors.Tensor{Name: b.weights(), DType: safetensors.F32, Shape: []int{b.Size}},
			safetensors.Tensor{Name: b.state(), DType: safetensors.F32, Shape: []int{b.State}})
	}
	for _, t := range c.Tables {
		n := []int{t.Rows}
		ts = append(ts, safetensors.Tensor{Name: t.ids(), DType: safetensors.U64, Shape: n},
			safetensors.Tensor{Name: t.rows(), DType: safetensors.F32, Shape: []int{t.Rows, t.Dim + t.State}},
			safetensors.Tensor{Name: t.steps(), DType: safetensors.I64, Shape: n},
			safetensors.Tensor{Name: t.seen(), DType: safetensors.U32, Shape: n},
			safetensors.Tensor{Name: t.updates(), DType: safetensors.U32, Shape: n})
		ts = append(ts, t.declareCounts()...)
	}
	return ts
}

func writeStore(ctx context.Context, f io.Writer, store *table.Store, names []string) (rows int64, err error) {
	s := snapshotOf(store, names)
	meta, err := json.Marshal(s.contents)
	if err != nil {
		return 0, err
	}
	w, err := safetensors.NewWriter(f, s.tensors(), map[string]string{contentsKey: string(meta)})
	if err != nil {
		return 0, err
	}
	for i, b := range s.Blocks {
		if err := safetensors.Put(w, b.weights(), s.blocks[i][0]); err != nil {
			return 0, err
		}
		if err := safetensors.Put(w, b.state(), s.blocks[i][1]); err != nil {
			return 0, err
		}
	}
	for i, t := range s.Tables {
		if err := writeTable(ctx, w, t, s.tables[i], s.ids[i], store.Step()); err != nil {
			return 0, err
		}
		if err := writeWaiters(w, t, s.waiting[i]); err != nil {
			return 0, err
		}
		rows += int64(t.Rows)
	}
	return rows, w.Close()
}

// writeTable streams a table's rows; what is known of each row is kept until they are through.
func writeTable(ctx context.Context, w *safetensors.Writer, t tableInfo, from *table.Sparse, ids []uint64, step int64) error {
	if err := safetensors.Put(w, t.ids(), ids); err != nil {
		return err
	}
	steps, seen, updates := make([]int64, 0, len(ids)), make([]uint32, 0, len(ids)), make([]uint32, 0, len(ids))
	var show, click []float32
	for r := range from.RowsOf(ids, step) {
		if err := files.Ended(ctx); err != nil {
			return err
		}
		if err := safetensors.Put(w, t.rows(), r.W); err != nil {
			return err
		}
		if err := safetensors.Put(w, t.rows(), r.State); err != nil {
			return err
		}
		steps, seen, updates = append(steps, r.Step), append(seen, r.Seen), append(updates, r.Updates)
		if t.Rated {
			show, click = append(show, r.Show), append(click, r.Click)
		}
	}
	puts := []func() error{
		func() error { return safetensors.Put(w, t.steps(), steps) },
		func() error { return safetensors.Put(w, t.seen(), seen) },
		func() error { return safetensors.Put(w, t.updates(), updates) },
	}
	if t.Rated {
		puts = append(puts, func() error { return safetensors.Put(w, t.show(), show) },
			func() error { return safetensors.Put(w, t.click(), click) })
	}
	return first(puts...)
}
