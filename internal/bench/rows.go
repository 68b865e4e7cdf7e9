package main

import (
	"fmt"
	"strings"
)

// rows are all that is compared, with the goals of issue 35.
func rows() []row {
	return append(append(append(append(training(), nets()...), messages()...), products()...), starts()...)
}

func newRow(name, table, work string, sides []side, compare ...comparison) row {
	return row{name: name, table: table, work: work, sides: sides, compare: compare}
}

// rarely is a row of a single round.
func (r row) rarely() row { r.once = true; return r }

// ours is gofleet's side; own another of the module's; by that of a peer; from that of a library or table of a peer's.
func ours(do work) side { return side{name: gofleet, run: do} }

func own(name string, do work) side { return side{name: name, run: do} }

func by(name string, do work) side { return side{name, name, do} }

func from(peer, name string, do work) side { return side{name, peer, do} }

// vs compares a figure with another side's; than is a difference of AUCs. of has another side's in gofleet's place.
func vs(figure, with string) comparison { return comparison{figure: figure, with: with} }

func than(of, with string) comparison {
	return comparison{figure: "AUC", with: with, minus: true}.by(of)
}

func (c comparison) by(of string) comparison { c.of = of; return c }

// atLeast and atMost have a goal, and or another for AVX-512.
func (c comparison) atLeast(goal float64) comparison { c.least = goal; return c }
func (c comparison) atMost(goal float64) comparison  { c.most = goal; return c }
func (c comparison) or(wide float64) comparison      { c.wide = wide; return c }

const rate, hogwild = "examples/s", "Hogwild"

// training is of wide & deep, and of a perceptron.
func training() []row {
	const alone, few, many = "one process", "8 workers", "16 workers"
	threads := own(hogwild, wide(2, "-threads=2"))
	modes := newRow("2x2", "modes", "2 servers, 2 workers", []side{ours(cluster(2, 2, "-mode=async")), threads,
		by("PaddlePaddle", paddleJob("wide", 0))}, vs(rate, "PaddlePaddle").atLeast(5).or(7),
		vs(rate, hogwild).atLeast(0.85))
	for _, mode := range []string{"sync", "half_async", "ssp", "geo"} {
		c := vs(rate, hogwild).by(mode)
		if mode != "geo" { // it trains by another rule
			c = c.atLeast(0.85)
		}
		modes.sides = append(modes.sides, own(mode, cluster(2, 2, "-mode="+mode)))
		modes.compare = append(modes.compare, c)
	}
	return []row{
		newRow("local/1", "training", "one process, one core", []side{ours(wide(1)),
			by("PyTorch", torch("wide", "CLICKS", "1", "SEED")),
			by("PaddlePaddle", python("paddle_peer.py", "CLICKS", "wide", "0", "SEED")), by("the bound", registers(1))},
			vs(rate, "PyTorch"), vs(rate, "PaddlePaddle"), vs(rate, "the bound"), than("", "PyTorch"),
			than("", "PaddlePaddle")),
		newRow("local/2", "training", "one process, two cores", []side{ours(wide(2)),
			by("PyTorch", torch("wide", "CLICKS", "2", "SEED")), threads, by("the bound", registers(2))},
			vs(rate, "PyTorch").atLeast(2.6).or(4), vs(rate, "the bound").atLeast(0.6),
			vs(rate, gofleet).by(hogwild), than(hogwild, gofleet)),
		modes,
		newRow("learn", "training", "2 servers, async, batches that fit", []side{own(alone, fits(2, 0, 0)),
			own(few, fits(0, 2, 8)), own(many, fits(0, 2, 16))},
			than(few, alone).atLeast(-0.01), than(many, alone).atLeast(-0.01)),
		newRow("cpu", "training", "2 servers, processor time of the job",
			[]side{own(few, cluster(2, 8)), own("1 worker", cluster(2, 1))},
			vs("CPU s", "1 worker").by(few).atMost(1.3)),
		newRow("seed", "training", "the original's quick start, batches of 10, 2 servers, 2 workers", []side{
			ours(cluster(2, 2, "-preset=seed", "-batch=10", "-rows=20000")),
			by("PaddlePaddle", paddleJob("seed", 20000))}, vs(rate, "PaddlePaddle").atLeast(10)),
		newRow("mnist", "training", "MNIST perceptron, batches of 64, two cores", []side{
			ours(example("mnist", 2, 0, 0, "-epochs=8", "-batch=64")), by("PyTorch", torch("mnist", "2"))},
			vs(rate, "PyTorch").atLeast(4)),
		{name: "converge", table: "converge", work: "the AUC of each mode on the flights", quote: converge},
		{name: "trees", table: "trees", work: "programs of fleetrun new, beside LightGBM", quote: trees},
	}
}

// nets are forward and backward of some, and the training of examples.
func nets() (all []row) {
	for _, net := range []string{"conv", "transformer", "gru4rec", "din", "mmoe", "two_towers"} {
		c := vs("least-ms", "PyTorch")
		if net == "conv" {
			c = c.atMost(0.67)
		}
		all = append(all, newRow("layers/"+net, "models", net+", forward and backward, one core", []side{
			ours(benchmark("nn", "Layers/"+net, "-test.cpu=1")), by("PyTorch", layers(net))}, c))
	}
	for _, name := range []string{"din", "mmoe", "twotowers", "sasrec", "text"} {
		both := []side{{gofleet, "PyTorch", twin(name)}, by("PyTorch", nil)}
		value := comparison{figure: "value", with: "PyTorch", minus: true}
		all = append(all, newRow("twin/"+name, "models", "examples/"+name, both, value, vs(rate, "PyTorch")).rarely())
	}
	return all
}

// messages are rows and vectors on their way, and sums.
func messages() (all []row) {
	const vector, hash, lite, naive, step = "vector", "map", "ps-lite", "naive Go", "step-us"
	for _, c := range []struct {
		mode, way string
		workers   int
		most      float64
	}{{"sync", "waited", 1, 0.7}, {"async", "pipelined", 1, 0.8}, {"async", "pipelined", 2, 0.9},
		{"sync", "waited", 2, 0.9}} {
		who := fmt.Sprintf("%d%s", c.workers, []string{"", "worker", "workers"}[c.workers])
		args := " " + c.way + " 4096 1000000 16 600"
		r := newRow(fmt.Sprintf("sparse/%d/%s", c.workers, c.way), "messages", "4,096 rows of 16 of a million", []side{
			ours(processes("loop/" + c.mode + "/" + who)), from(lite, vector, psLite(c.workers, "vector"+args)),
			from(lite, hash, psLite(c.workers, "map"+args))}, vs(step, vector).atMost(c.most), vs(step, hash))
		if c.way == "waited" { // as the naive server always is
			r.sides = append(r.sides, own(naive, processes("naive/loop/"+who)))
			r.compare = append(r.compare, vs(step, naive))
		}
		all = append(all, r)
	}
	between := func(name, work string, workers int, args string, compare ...comparison) {
		all = append(all, newRow(name, "messages", work, []side{ours(processes(name)),
			by(lite, psLite(workers, "vector waited "+args)), own(naive, processes("naive/"+name))}, compare...))
	}
	between("crowd", "8 workers, 512 rows of 16 each", 8, "512 1000000 16 2000", vs("pull-p50-us", lite).atMost(0.6),
		vs("pull-p99-us", lite).atMost(1), vs("push-p50-us", lite).atMost(0.6), vs("push-p99-us", lite).atMost(1),
		vs(step, lite), vs(step, naive))
	between("tiny", "one float", 1, "1 4 1 5000", vs("push-p50-us", lite).atMost(0.5),
		vs("push-p50-us", naive).atMost(1.4), vs("pull-p50-us", lite), vs("pull-p50-us", naive))
	between("dense", "4 MB", 1, "1 4 1048576 200", vs("push-p50-us", lite).atMost(0.7),
		vs("pull-p50-us", lite).atMost(0.7), vs("push-p50-us", naive), vs("pull-p50-us", naive))
	for _, name := range []string{"push/1float/sgd", "pull/1float", "push/4MB/sgd", "pull/4MB"} {
		all = append(all, newRow("bare/"+name, "messages", name+", one process", []side{ours(paired(name)),
			own("bare fasthttp", nil)}, vs("us", "bare fasthttp")))
	}
	for _, floats := range []int{16, 1 << 20} {
		const gloo = "gloo"
		bytes := fmt.Sprint(4 * floats)
		all = append(all, newRow("sum/"+bytes, "messages", "all-reduce of 2 ranks, "+bytes+" bytes", []side{
			ours(benchmark("internal/collective", "AllReduce/ranks=2/bytes="+bytes)),
			from("PyTorch", gloo, torch("sum", fmt.Sprint(floats)))}, vs("ms/op", gloo)))
	}
	const plain, once = "map", "-test.benchtime=1x"
	return append(all, newRow("memory", "messages", "a row of 16 under Adagrad, 1 M rows", []side{
		ours(benchmark("internal/table", "Memory/table/adagrad/1M", once)),
		own(plain, benchmark("internal/table", "Memory/map/adagrad/1M", once))}, vs("heap-bytes/row", plain)).rarely())
}

// products are those of the wide & deep net: of a layer forward, its weights' gradient, and its input's.
func products() (all []row) {
	for _, p := range []string{"forward 512 512 247", "dW 247 512 512 A", "dX 512 247 512 B", "forward 512 256 512",
		"dW 512 256 512 A", "dX 512 512 256 B"} {
		f := strings.Fields(p)
		name := f[0] + "-" + strings.Join(f[1:4], "x")
		for n := 1; n <= 2; n++ {
			cores := fmt.Sprint(n)
			in := func(library string) work { return torch(append([]string{"product", library, cores}, f[1:]...)...) }
			all = append(all, newRow("product/"+name+"/"+cores, "products", name+", cores: "+cores, []side{
				ours(product(name, n)), from("PyTorch", "MKL", in("torch")), by("OpenBLAS", in("numpy"))},
				vs("GFLOP/s", "MKL,OpenBLAS").atLeast(1)))
		}
	}
	return all
}

// starts are what a newcomer waits for.
func starts() []row {
	const first = "README's first command, "
	return []row{
		newRow("start/warm", "training", first+"built before", []side{ours(started(false))}, vs("s", "").atMost(8)),
		newRow("start/cold", "training", first+"with an empty build cache", []side{ours(started(true))},
			vs("s", "").atMost(60)).rarely(),
	}
}
