package serve_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"gorgonia.org/tensor"
)

// A saved model evaluates with no fleet.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := saveAverage(dir); err != nil {
		log.Fatal(err)
	}

	m, err := serve.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	feed := map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 9}))}
	out, err := nn.NewExecutor(m.Graph).Eval(context.Background(), feed, m.Output("average"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out[0].Float32s())
	// Output: [2 6]
}

// saveAverage saves a layer that averages three numbers, as a fleet's SaveInferenceModel would.
func saveAverage(dir string) error {
	g := nn.NewGraph(1)
	average := nn.Linear(g.Input("x", 3), 1, nn.LinearOptions{Name: "average", NoBias: true})
	graph, err := os.Create(filepath.Join(dir, "graph.json"))
	if err != nil {
		return err
	}
	defer graph.Close()
	if err := nn.Inference(average).WriteGraph(graph); err != nil {
		return err
	}
	weights, err := os.Create(filepath.Join(dir, "weights.safetensors"))
	if err != nil {
		return err
	}
	defer weights.Close()
	w, err := safetensors.NewWriter(weights, []safetensors.Tensor{
		{Name: "average.w_0", DType: safetensors.F32, Shape: []int{3, 1}}}, nil)
	if err != nil {
		return err
	}
	if err := safetensors.Put(w, "average.w_0", []float32{1. / 3, 1. / 3, 1. / 3}); err != nil {
		return err
	}
	return w.Close()
}
