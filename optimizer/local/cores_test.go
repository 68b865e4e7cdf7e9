package local_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

// TestSameOnAllCores: some steps on many rows end at the same weights, whatever the number of cores.
func TestSameOnAllCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const batch, ids = 512, 8
	var want [][]float32
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		g := nn.NewGraph(1)
		x := nn.Embedding(g.IDs("ids", ids), nn.EmbeddingOptions{Name: "t", Dim: 5, Entry: optimizer.Entry{CountFilter: 2}})
		loss := nn.Mean(nn.SquareError(nn.Linear(nn.Linear(x, 64, nn.LinearOptions{Act: nn.ReLU}), 1, nn.LinearOptions{}), g.Input("y", 1)))
		trainer, err := local.Minimize(loss, optimizer.Adam{LR: 0.01})
		check(t, err)
		exe, r := nn.NewExecutor(g), rand.New(rand.NewPCG(1, 2))
		for range 6 {
			looked, y := make([]int64, batch*ids), make([]float32, batch)
			for i := range looked {
				looked[i] = r.Int64N(5000)
			}
			for i := range y {
				y[i] = r.Float32()
			}
			_, err := exe.Train(t.Context(), map[string]*tensor.Dense{"ids": tensor.New(tensor.WithShape(batch, ids), tensor.WithBacking(looked)),
				"y": tensor.New(tensor.WithShape(batch, 1), tensor.WithBacking(y))})
			check(t, err)
		}
		table, _ := trainer.Store().Table("t")
		var all [][]float32
		for row := range table.Rows(trainer.Step()) {
			all = append(all, append(append([]float32{float32(row.ID)}, row.W...), row.State...))
		}
		if len(all) < 3000 {
			t.Fatalf("%d rows were born", len(all))
		}
		for _, p := range g.Params() {
			if !p.Embedding {
				w, err := trainer.Dense(p.Name)
				check(t, err)
				all = append(all, w)
			}
		}
		if want == nil {
			want = all
		}
		if !slices.EqualFunc(all, want, slices.Equal) {
			t.Errorf("%d cores: other weights than on one", cores)
		}
	}
}
