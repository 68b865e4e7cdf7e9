package local_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

// TestClickedIDsGetRows trains on labels as clicks: at 0.1 for a show and 1 for a click, an id that was clicked three times has
// its row, and one that was shown as often has none.
func TestClickedIDsGetRows(t *testing.T) {
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "t", Dim: 2, Click: g.IDs("y", 1),
		Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 3}}}))
	trainer, err := local.Minimize(loss, optimizer.SGD{LR: 1})
	check(t, err)
	column := func(data ...int64) *tensor.Dense { return tensor.New(tensor.WithShape(4, 1), tensor.WithBacking(data)) }
	feeds := map[string]*tensor.Dense{"ids": column(3, 3, 4, 4), "y": column(1, 1, 0, 0)}
	exe := nn.NewExecutor(g)
	for _, want := range [][]uint64{nil, {3}, {3}} {
		_, err := exe.Train(t.Context(), feeds)
		check(t, err)
		table, _ := trainer.Store().Table("t")
		if got := table.IDs(); !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	}
	feeds["y"] = column(1, 1, -1, 0)
	if _, err := exe.Train(t.Context(), feeds); err == nil || !strings.Contains(err.Error(), "-1 clicks") {
		t.Errorf("a label of -1 as a click: error %v", err)
	}
}
