// Package retrieval finds items by vectors: of all, the ones with the largest inner products with a query's, exactly.
package retrieval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// Towers are two nodes whose rows, of shape [N D], are compared.
type Towers struct {
	Query, Item *nn.Node
	Items       *dataset.Dataset // what Item is computed from: a row for each item, from item 1 on
}

// Hooks print, after each epoch, the share of test rows whose item, in the column answer, is among the ten that are
// found for the row, and save the items' vectors beside the model, as items.npz.
func (t Towers) Hooks(answer string) train.Hooks {
	return train.Hooks{
		EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
			if !r.Leads() {
				return nil
			}
			_, test, err := r.Job.Data(ctx)
			if err != nil {
				return err
			}
			recall, err := t.recall(ctx, test, answer)
			fmt.Fprintf(r.Job.Stdout, "recall@10 %.4f over all items\n", recall)
			return err
		},
		Saved: func(ctx context.Context, _ *train.Run, dir string) error { return t.save(ctx, dir) },
	}
}

// Recall is the share of rows whose item is among the ten that are found for the row.
func (t Towers) recall(ctx context.Context, rows *dataset.Dataset, answer string) (float64, error) {
	index, err := t.index(ctx)
	if err != nil {
		return 0, err
	}
	exe, sum, all := nn.NewExecutor(t.Query.Graph()), 0.0, int64(0)
	for batch, err := range rows.BatchesContext(ctx, 1000) {
		if err != nil {
			return 0, err
		}
		queries, err := exe.Eval(ctx, batch, t.Query)
		if err != nil {
			return 0, err
		}
		var relevant [][]int64
		for _, item := range batch[answer].Int64s() {
			relevant = append(relevant, []int64{item})
		}
		found, n, err := index.Recall(queries[0].Float32s(), relevant, 10)
		if err != nil {
			return 0, err
		}
		sum, all = sum+found, all+n
	}
	return sum / float64(all), exe.Close(ctx)
}

// index has the vectors of all items.
func (t Towers) index(ctx context.Context) (*serve.Index, error) {
	vectors, err := t.vectors(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(vectors)/t.Item.Shape()[1])
	for i := range ids {
		ids[i] = int64(i) + 1
	}
	return serve.NewIndex(ids, vectors)
}

// vectors are all items', one behind the other.
func (t Towers) vectors(ctx context.Context) (vectors []float32, err error) {
	exe := nn.NewExecutor(t.Item.Graph())
	for batch, err := range t.Items.BatchesContext(ctx, 1000) {
		if err != nil {
			return nil, err
		}
		out, err := exe.Eval(ctx, batch, t.Item)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, out[0].Float32s()...)
	}
	return vectors, exe.Close(ctx)
}

// save writes the vectors of all items, with their ids.
func (t Towers) save(ctx context.Context, dir string) error {
	vectors, err := t.vectors(ctx)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "items.npz"))
	if err != nil {
		return err
	}
	dim := t.Item.Shape()[1]
	rows := func(yield func(weights.Row, error) bool) {
		for i := range len(vectors) / dim {
			if !yield(weights.Row{ID: uint64(i) + 1, W: vectors[i*dim : (i+1)*dim]}, nil) {
				return
			}
		}
	}
	return errors.Join(weights.WriteNPZ(file, "items", rows), file.Close())
}

// Open is an index of items that Hooks have saved.
func Open(ctx context.Context, dir string) (*serve.Index, error) {
	file, err := weights.Open(ctx, filepath.Join(dir, "items.npz"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var ids []int64
	var vectors []float32
	for row, err := range file.Rows("items") {
		if err != nil {
			return nil, err
		}
		ids, vectors = append(ids, int64(row.ID)), append(vectors, row.W...)
	}
	return serve.NewIndex(ids, vectors)
}
