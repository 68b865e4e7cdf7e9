// Command starts imports nn, evaluates one node and ends.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gofleet/gofleet/nn"
	"gorgonia.org/tensor"
)

func main() {
	g := nn.NewGraph(1)
	y := nn.ReLU(g.Input("x"))
	feed := map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{2, 3}))}
	out, err := nn.NewExecutor(g).Eval(context.Background(), feed, y)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(out[0].Float32s())
}
