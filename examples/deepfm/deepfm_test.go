package main

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestFlights trains on a part of the flights, alone and in every mode on 2 servers and 2 workers.
func TestFlights(t *testing.T) {
	law.Slow(t)
	const rows = "-rows=40000"
	shared := jobtest.Sharing(t, program, rows)
	check := func(name string, servers, workers int, args ...string) {
		t.Run(name, func(t *testing.T) {
			res, said := jobtest.Run(t, servers, workers, shared, append(args, rows, "-width=32", "-out=")...)
			if auc := res.Last.Values["test AUC"]; auc < 0.69 || !strings.Contains(said, "test AUC ") {
				t.Errorf("test AUC %.4f; worker 0 said\n%s", auc, said)
			}
		})
	}
	for _, k := range law.Some(t, jobtest.InEachMode([]string{"-batch=128"}, []string{"-batch=64"}, "-k_steps=10")) {
		check(k.Name, k.Servers, k.Workers, k.Args...)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rows=-1"}, {"-dim=0"}, {"-width=0"}, {"-mode=often"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

// TestCrosses adds up the inner products of all pairs, one by one.
func TestCrosses(t *testing.T) {
	const n, fields, numeric, dim = 3, 4, 2, 5
	v, x, w := wave(n*fields*dim, 1), wave(n*numeric, 2), wave(numeric*dim, 3)
	g := nn.NewGraph(1)
	out := crosses(g.Input("v", fields, dim), g.Input("x", numeric),
		g.Parameter(nn.ParameterOptions{Init: optimizer.Assign(w)}, numeric, dim))
	got, err := nn.NewExecutor(g).Eval(t.Context(), map[string]*tensor.Dense{
		"v": tensor.New(tensor.WithShape(n, fields, dim), tensor.WithBacking(v)),
		"x": tensor.New(tensor.WithShape(n, numeric), tensor.WithBacking(x)),
	}, out)
	if err != nil {
		t.Fatal(err)
	}
	for r := range n {
		var all [][]float32 // the vector of each field
		for f := range fields {
			all = append(all, v[(r*fields+f)*dim:][:dim])
		}
		for f := range numeric {
			scaled := make([]float32, dim)
			for i := range scaled {
				scaled[i] = x[r*numeric+f] * w[f*dim+i]
			}
			all = append(all, scaled)
		}
		want := 0.0
		for i := range all {
			for j := range i {
				for k := range dim {
					want += float64(all[i][k] * all[j][k])
				}
			}
		}
		if y := float64(got[0].Float32s()[r]); math.Abs(y-want) > 1e-4 {
			t.Errorf("example %d: %v, want %v", r, y, want)
		}
	}
}

func wave(n int, phase float64) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Sin(phase + float64(i)))
	}
	return w
}

// TestModel: what is saved has the weights of every part.
func TestModel(t *testing.T) {
	net := newModel(1, 3, 4)
	if err := net.pred.Err(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range nn.Inference(net.pred).Params() {
		names = append(names, p.Name)
	}
	for _, want := range []string{"SparseFeatFactors", "SparseFeatWeights", "DenseFeatFactors"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("the model has no %s: %q", want, names)
		}
	}
}
