package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
)

// Image is the content of a part, at the moment when the image was made.
type Image struct {
	*table.Image
	rows rowsOf
}

// rowsOf says which rows and waiting ids a part holds.
type rowsOf uint8

const (
	allRows     rowsOf = iota
	changedRows        // those that have changed since the base
	othersRows         // all, on top of a base that another process wrote
)

// of returns these rows and ids of a table.
func (r rowsOf) of(t *table.TableImage) (c table.Changes) {
	switch r {
	case changedRows:
		return t.Changes()
	case othersRows:
		c.Forgotten, c.Dropped = t.Changes().Forgotten, t.Changes().Dropped
	}
	c.Rows, c.Waiters = t.IDs(), t.Waiters()
	return c
}

// ImageOf returns an image of a store: of all params, or of the named ones only.
func ImageOf(store *table.Store, names ...string) Image {
	image := Image{Image: store.Image(func(param string) bool { return among(names, param) })}
	if len(names) > 0 {
		image.Chain = table.Chain{} // what was saved for serving has more params
	}
	return image
}

// Written reports whether a part exists.
func Written(dir, file string) (bool, error) { return isThere(files.Join(dir, file)) }

// WriteImage writes an image of a store to dir/file, while the store is used. It returns an error when ctx ends.
func WriteImage(ctx context.Context, dir, file string, image Image) (Part, error) {
	if err := files.Ended(ctx); err != nil {
		return Part{}, fmt.Errorf("checkpoint: part %s: %w", file, err)
	}
	disk := on(ctx, dir)
	if err := files.MakeDir(disk, dir); err != nil {
		return Part{}, fmt.Errorf("checkpoint: %w", err)
	}
	f, err := files.CreateOn(disk, files.Join(dir, file))
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

// contentsOf describes the arrays of an image's part, and returns the rows of each table that it holds.
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
			Rows:  len(has.Rows), Rated: t.Table.Rated(), Waiting: len(has.Waiters),
			Forgotten: len(has.Forgotten), Dropped: len(has.Dropped), Clock: t.Clock, Scored: t.Table.Rated(),
			Served: c.Chain != table.Chain{}, Gone: len(t.Gone)})
	}
	return c, rows
}

func stateLen(t *table.Sparse) int {
	if t.Rule() == nil {
		return 0
	}
	return t.Rule().StateLen(t.Param().Dim())
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
		if len(has[i].Dropped) > 0 {
			if err := safetensors.Put(w, t.dropped(), has[i].Dropped); err != nil {
				return 0, err
			}
		}
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

// writeTable writes a table's rows, a batch at a time, with their other columns.
func writeTable(ctx context.Context, w *safetensors.Writer, t tableInfo, from *table.TableImage, ids []uint64) error {
	if err := safetensors.Put(w, t.ids(), ids); err != nil {
		return err
	}
	for rows := range from.RowsOf(ids) {
		if err := files.Ended(ctx); err != nil {
			return err
		}
		if err := t.columns(rows).write(w); err != nil { // before the last rows, which the columns follow in the file
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
