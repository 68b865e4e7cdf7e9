// Command hand makes a mistake in a loop by hand, the one that its argument names.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

func data(n int) map[string]*tensor.Dense {
	x, y, ids := make([]float32, 2*n), make([]float32, n), make([]int64, n)
	for i := range y {
		x[2*i], x[2*i+1], ids[i] = rand.Float32(), rand.Float32(), int64(rand.IntN(100))
		if x[2*i] > x[2*i+1] {
			y[i] = 1
		}
	}
	return map[string]*tensor.Dense{"x": nn.Floats(x, 2), "ids": nn.Ints(ids, 1), "y": nn.Floats(y)}
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	g := nn.NewGraph(1)
	x, ids, y := g.Input("x", 2), g.IDs("ids", 1), g.Input("y", 1)
	h := nn.Linear(nn.Concat(x, nn.Embedding(ids, nn.EmbeddingOptions{Height: 100, Dim: 4})), 16, nn.LinearOptions{Act: nn.ReLU})
	p := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid})
	loss, auc := nn.Mean(nn.BinaryCrossEntropy(p, y)), nn.AUC(p, y)
	must := func(err error) {
		if err != nil {
			fmt.Println("ERR:", err)
			os.Exit(1)
		}
	}
	c := os.Args[1]
	if c != "nominimize" {
		_, err := local.Minimize(loss, optimizer.Adam{LR: 1e-2})
		must(err)
	}
	exe := nn.NewExecutor(g)
	b := data(32)
	step := func(f ...*nn.Node) {
		out, err := exe.Train(ctx, b, f...)
		must(err)
		for _, o := range out {
			fmt.Print(nn.Scalar(o), " ")
		}
		fmt.Println()
	}
	switch c {
	case "good":
		for range 5 {
			step(loss, auc)
		}
	case "nominimize":
		step(loss)
	case "twice":
		_, err := local.Minimize(loss, optimizer.SGD{LR: 1})
		must(err)
		step(loss)
	case "race":
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 300 {
					if _, err := exe.Train(ctx, data(32), loss); err != nil {
						fmt.Println("worker", w, "step", i, "ERR:", err)
						return
					}
				}
			})
		}
		wg.Wait()
	case "raceeval":
		step(loss)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 300 {
					if _, err := exe.Eval(ctx, data(32), p); err != nil {
						fmt.Println("worker", w, "step", i, "ERR:", err)
						return
					}
				}
			})
		}
		wg.Wait()
	case "cancelled":
		cancel()
		step(loss)
	case "cancelmid":
		time.AfterFunc(20*time.Millisecond, cancel)
		for range 1000000 {
			step(loss)
		}
	case "othergraph":
		g2 := nn.NewGraph(1)
		step(nn.Mean(g2.Input("x", 2)))
	case "latenode":
		step(loss)
		step(nn.Mean(nn.Square(p)))
	case "newparam":
		step(loss)
		step(nn.Mean(nn.Linear(h, 1, nn.LinearOptions{})))
	case "f64":
		b["x"] = tensor.New(tensor.WithShape(32, 2), tensor.WithBacking(make([]float64, 64)))
		step(loss)
	case "intlabel":
		b["y"] = nn.Ints(make([]int64, 32), 1)
		step(loss)
	case "flat":
		b["y"] = tensor.New(tensor.WithShape(32), tensor.WithBacking(make([]float32, 32)))
		step(loss)
	case "mismatch":
		b["y"] = nn.Floats(make([]float32, 31))
		step(loss)
	case "zero":
		b = data(0)
		step(loss)
	case "one":
		b = data(1)
		step(loss)
	case "closed":
		step(loss)
		must(exe.Close(ctx))
		step(loss)
	case "negid":
		b["ids"] = nn.Ints(make([]int64, 32), 1)
		b["ids"].Data().([]int64)[7] = -1
		step(loss)
	case "bigid":
		b["ids"].Data().([]int64)[7] = 100
		step(loss)
	case "extra":
		b["z"] = nn.Floats(make([]float32, 32))
		step(loss)
	case "nilfeed":
		b["x"] = nil
		step(loss)
	case "nilnode":
		step(nil)
	case "nilnode2":
		q := nn.Add(p, nil)
		step(nn.Mean(q))
	case "label2":
		b["y"].Data().([]float32)[3] = 2
		step(loss)
	case "evaltrain":
		for range 5 {
			out, err := exe.Eval(ctx, b, loss) // Eval for Train
			must(err)
			fmt.Println(nn.Scalar(out[0]))
		}
	case "stale":
		o1, err := exe.Train(ctx, b, loss)
		must(err)
		l1 := nn.Scalar(o1[0])
		for range 20 {
			_, err := exe.Train(ctx, b, loss)
			must(err)
		}
		fmt.Println("kept", l1, "now reads", nn.Scalar(o1[0]))
	}
}
