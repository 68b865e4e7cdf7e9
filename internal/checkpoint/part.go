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
	// Chain is what was saved for serving.
	Chain table.Chain `json:"chain,omitzero"`
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
	// Forgotten is how many ids of the base's don't wait any more.
	Forgotten int `json:"forgotten,omitempty"`
	// Scored says that the rows have delta scores, Served that it is known of each what a model for serving has of it,
	// and Gone how many ids such a model has whose rows were dropped.
	Scored bool `json:"scored,omitempty"`
	Served bool `json:"served,omitempty"`
	Gone   int  `json:"gone,omitempty"`
	// Clock is the number of periods so far.
	Clock uint32 `json:"clock,omitempty"`
}

const contentsKey = "gofleet"

// disk is where checkpoints are written; tests have one that fails, or remembers.
var disk files.FS = files.OS{}

// UseDisk has checkpoints written elsewhere, for tests of other packages, until restore is called.
func UseDisk(on files.FS) (restore func()) {
	before := disk
	disk = on
	return func() { disk = before }
}

func (b blockInfo) weights() string {
	return fmt.Sprintf("%s[%d:%d]", b.Param, b.Offset, b.Offset+b.Size)
}
func (b blockInfo) state() string { return b.weights() + ".state" }

func (t tableInfo) ids() string     { return t.Param + ".ids" }
func (t tableInfo) rows() string    { return t.Param + ".rows" }
func (t tableInfo) steps() string   { return t.Param + ".step" }
func (t tableInfo) seen() string    { return t.Param + ".seen" }
func (t tableInfo) updates() string { return t.Param + ".updates" }

// WritePart writes all of store to dir/file, or the params of the names alone, as they are when it is called. A ctx
// that ends ends it.
func WritePart(ctx context.Context, dir, file string, store *table.Store, names ...string) (Part, error) {
	image := ImageOf(store, names...)
	defer image.Close()
	return WriteImage(ctx, dir, file, image)
}

// Image is what a part is to have, as it was when the image was made.
type Image struct {
	*table.Image
	rows rowsOf
}

// rowsOf says which rows, and waiting ids, a part has.
type rowsOf uint8

const (
	allRows     rowsOf = iota
	changedRows        // since the base
	othersRows         // all, over the rows of a base of another process
)

// of are these of a table.
func (r rowsOf) of(t *table.TableImage) (c table.Changes) {
	switch r {
	case changedRows:
		return t.Changes()
	case othersRows:
		c.Forgotten = t.Changes().Forgotten
	}
	c.Rows, c.Waiters = t.IDs(), t.Waiters()
	return c
}

// ImageOf is an image of a store for a part: of all params, or of the named ones alone.
func ImageOf(store *table.Store, names ...string) Image {
	image := Image{Image: store.Image(func(param string) bool { return among(names, param) })}
	if len(names) > 0 {
		image.Chain = table.Chain{} // what was saved for serving has more
	}
	return image
}

// Written says whether a part is there.
func Written(dir, file string) (bool, error) { return isThere(filepath.Join(dir, file)) }

// WriteImage writes an image of a store to dir/file, while the store is used. A ctx that ends ends it.
func WriteImage(ctx context.Context, dir, file string, image Image) (Part, error) {
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
	rows, err := writeImage(ctx, f, image)
	if err != nil {
		f.Abandon()
		return Part{}, fmt.Errorf("checkpoint: part %s: %w", file, err)
	}
	if err := f.Commit(); err != nil {
		return Part{}, fmt.Errorf("checkpoint: %w", err)
	}
	return Part{File: file, Bytes: f.Size(), Sum: f.Sum(), Rows: rows}, nil
}

// contentsOf says what of an image lies where, and which rows of each table.
func contentsOf(image Image) (c contents, rows []table.Changes) {
	c.Chain = image.Chain
	for _, b := range image.Blocks {
		c.Blocks = append(c.Blocks, blockInfo{Param: b.Param.Name, Offset: b.Offset, Size: b.Len(), State: b.StateLen(),
			Step: b.Step()})
	}
	for _, t := range image.Tables {
		has := image.rows.of(t)
		rows = append(rows, has)
		c.Tables = append(c.Tables, tableInfo{Param: t.Table.Param().Name, Dim: t.Table.Param().Dim(),
			State: stateLen(t.Table),
			Rows:  len(has.Rows), Rated: t.Table.Rated(), Waiting: len(has.Waiters), Forgotten: len(has.Forgotten),
			Clock:  t.Clock,
			Scored: t.Table.Rated(), Served: c.Chain != table.Chain{}, Gone: len(t.Gone)})
	}
	return c, rows
}

// among reports whether a param is named; without names all are.
func among(names []string, param string) bool {
	return len(names) == 0 || slices.Contains(names, param)
}

func stateLen(t *table.Sparse) int {
	if t.Rule() == nil {
		return 0
	}
	return t.Rule().StateLen(t.Param().Dim())
}

// tensors are a part's.
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

func writeImage(ctx context.Context, f io.Writer, image Image) (rows int64, err error) {
	c, has := contentsOf(image)
	meta, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	w, err := safetensors.NewWriter(f, c.tensors(), map[string]string{contentsKey: string(meta)})
	if err != nil {
		return 0, err
	}
	for i, b := range c.Blocks {
		if err := writeBlock(w, b, image.Blocks[i]); err != nil {
			return 0, err
		}
	}
	for i, t := range c.Tables {
		if err := writeTable(ctx, w, t, image.Tables[i], has[i].Rows); err != nil {
			return 0, err
		}
		if err := writeWaiters(w, t, image.Tables[i], has[i]); err != nil {
			return 0, err
		}
		rows += int64(t.Rows)
	}
	return rows, w.Close()
}

func writeBlock(w *safetensors.Writer, b blockInfo, from *table.BlockImage) error {
	err := from.EachWeight(func(weights []float32) error { return safetensors.Put(w, b.weights(), weights) })
	if err != nil {
		return err
	}
	return from.EachState(func(state []float32) error { return safetensors.Put(w, b.state(), state) })
}

// writeTable streams a table's rows, and beside them what is known of each.
func writeTable(ctx context.Context, w *safetensors.Writer, t tableInfo, from *table.TableImage, ids []uint64) error {
	if err := safetensors.Put(w, t.ids(), ids); err != nil {
		return err
	}
	for rows := range from.RowsOf(ids) {
		if err := files.Ended(ctx); err != nil {
			return err
		}
		if err := known(w, t, rows); err != nil { // before the last rows: then its columns have their turn
			return err
		}
		if err := safetensors.Put(w, t.rows(), rows.Floats); err != nil {
			return err
		}
	}
	if t.Gone == 0 {
		return nil
	}
	return safetensors.Put(w, t.gone(), from.Gone)
}

// known writes what a table knows of some rows, to the columns that come behind all rows.
func known(w *safetensors.Writer, t tableInfo, rows *table.Columns) error {
	puts := []func() error{
		func() error { return safetensors.Later(w, t.steps(), rows.Steps) },
		func() error { return safetensors.Later(w, t.seen(), rows.Seen) },
		func() error { return safetensors.Later(w, t.updates(), rows.Updates) },
	}
	if t.Rated {
		puts = append(puts, func() error { return safetensors.Later(w, t.show(), rows.Show) },
			func() error { return safetensors.Later(w, t.click(), rows.Click) })
	}
	if t.Scored {
		puts = append(puts, func() error { return safetensors.Later(w, t.scores(), rows.Delta) })
	}
	if t.Served {
		puts = append(puts, func() error { return safetensors.Later(w, t.served(), rows.Served) })
	}
	return first(puts...)
}
