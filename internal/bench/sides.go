package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// gofleet is the name of the side that all others are compared with.
const gofleet = "gofleet"

// work measures something once; a round's number is the seed where there is one.
type work = func(ctx context.Context, l *lab, round int) (figures, error)

// parsed are the figures in a program's output, if it has ended well.
func parsed(out string, err error, parse func(out string) (figures, error)) (figures, error) {
	if err != nil {
		return nil, err
	}
	return parse(out)
}

// benchmark runs one benchmark of a package's tests.
func benchmark(pkg, name string, more ...string) work {
	return func(ctx context.Context, l *lab, _ int) (figures, error) {
		out, err := runBenchmark(ctx, l, pkg, name, more...)
		return parsed(out, err, benchmarkOf(name))
	}
}

func runBenchmark(ctx context.Context, l *lab, pkg, name string, more ...string) (string, error) {
	program, err := l.goTest(ctx, pkg)
	if err != nil {
		return "", err
	}
	pattern := "^Benchmark" + strings.ReplaceAll(name, "/", "$/^") + "$"
	args := append([]string{program, "-test.run=^$", "-test.timeout=9m", "-test.bench=" + pattern}, more...)
	return l.run(ctx, filepath.Join(l.root, pkg), nil, args...)
}

// processes runs a job of fleet's BenchmarkProcesses.
func processes(name string) work { return benchmark("fleet", "Processes/"+name, "-test.benchtime=1x") }

// paired runs a benchmark of internal/client that takes turns with bare fasthttp by itself.
func paired(name string) work {
	do := benchmark("internal/client", "AgainstBare/"+name)
	return func(ctx context.Context, l *lab, round int) (figures, error) {
		f, err := do(ctx, l, round)
		return figures{"us": f["ours-us"], "bare fasthttp|us": f["bare-us"]}, err
	}
}

// product is the fastest of the kernels that this machine has.
func product(name string, threads int) work {
	return func(ctx context.Context, l *lab, _ int) (figures, error) {
		out, err := runBenchmark(ctx, l, "internal/kernels", "Gemm/.*/"+name, fmt.Sprint("-test.cpu=", threads),
			"-test.benchtime=0.5s")
		best := 0.0
		for _, f := range benchmarks(out) {
			best = max(best, f["GFLOP/s"])
		}
		if err == nil && best == 0 {
			err = fmt.Errorf("no product in the output: %s", out)
		}
		return figures{"GFLOP/s": best}, err
	}
}

// wide trains the net of the recommendation benchmarks on generated clicks, in one process; cluster with servers.
func wide(cores int, args ...string) work {
	return example("wide_and_deep", cores, 0, 0, append(criteo, append([]string{"-batch=512"}, args...)...)...)
}

func cluster(servers, workers int, args ...string) work {
	return example("wide_and_deep", 0, servers, workers, append(criteo, append([]string{"-batch=512"}, args...)...)...)
}

// fits trains it in batches that fit the rows and the workers.
func fits(cores, servers, workers int) work {
	return example("wide_and_deep", cores, servers, workers, append(criteo, "-mode=async")...)
}

var criteo = []string{"-preset=criteo", "-data=CLICKS/train.tsv", "-test=CLICKS/test.tsv"}

// example trains an example in a process that computes on so many cores, or with workers as processes.
func example(name string, cores, servers, workers int, args ...string) work {
	return func(ctx context.Context, l *lab, round int) (figures, error) {
		program, err := l.goProgram(ctx, "examples/"+name)
		if err != nil {
			return nil, err
		}
		out, all := "", l.filled(round, append([]string{program, "-out=", "-seed=SEED"}, args...)...)
		if workers > 0 {
			out, _, err = l.job(ctx, servers, workers, nil, all...)
		} else {
			out, err = l.run(ctx, l.dir, []string{fmt.Sprint("GOMAXPROCS=", cores)}, all...)
		}
		return parsed(out, err, trained)
	}
}

// filled has arguments with the folder of the clicks for CLICKS, and a round's seed for SEED.
func (l *lab) filled(round int, args ...string) []string {
	with := strings.NewReplacer("CLICKS", l.clicks, "SEED", strconv.Itoa(round+1))
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = with.Replace(a)
	}
	return all
}

// python runs a peer's script.
func python(script string, args ...string) work {
	return func(ctx context.Context, l *lab, round int) (figures, error) {
		interpreter := l.torch
		if strings.HasPrefix(script, "paddle") {
			interpreter = l.paddle
		}
		all := append([]string{interpreter, l.testdata(script)}, l.filled(round, args...)...)
		out, err := l.run(ctx, l.dir, []string{"PYTHONDONTWRITEBYTECODE=1"}, all...)
		return parsed(out, err, object)
	}
}

func torch(args ...string) work { return python("torch_peer.py", args...) }

// layers runs a net of BenchmarkLayers in PyTorch.
func layers(net string) work {
	return func(ctx context.Context, l *lab, _ int) (figures, error) {
		out, err := l.run(ctx, l.dir, nil, l.torch, filepath.Join(l.root, "nn/testdata/torch_steps.py"), net, "1")
		return parsed(out, err, benchmarkOf("Layers/"+net))
	}
}

// twin trains an example, and the same net in PyTorch, as the example's own test does: means of five seeds.
func twin(name string) work {
	return func(ctx context.Context, l *lab, _ int) (figures, error) {
		program, err := l.goTest(ctx, "examples/"+name)
		if err != nil {
			return nil, err
		}
		out, err := l.run(ctx, filepath.Join(l.root, "examples", name), nil, program, "-test.run=^TestTwin$", "-test.v",
			"-torch="+l.torch)
		return parsed(out, err, twins)
	}
}

// converge trains in every mode, beside one process; trees makes programs for files, beside LightGBM.
func converge(ctx context.Context, l *lab) (string, error) {
	program, err := l.goTest(ctx, "examples/wide_and_deep")
	if err != nil {
		return "", err
	}
	return l.run(ctx, filepath.Join(l.root, "examples/wide_and_deep"), nil, program, "-test.run=^TestConvergence$",
		"-convergence", "-test.v")
}

func trees(ctx context.Context, l *lab) (string, error) {
	return l.run(ctx, l.root, nil, ".ci/outside", "trees")
}

// paddleJob trains with two servers and two workers of PaddlePaddle: the rate of both.
func paddleJob(net string, rows int) work {
	return func(ctx context.Context, l *lab, round int) (figures, error) {
		env := []string{"MODE=async", "PYTHONDONTWRITEBYTECODE=1", "CPU_NUM=1", "OMP_NUM_THREADS=1"}
		_, outs, err := l.job(ctx, 2, 2, env, l.filled(round, l.paddle, l.testdata("paddle_peer.py"), "CLICKS", net,
			strconv.Itoa(rows), "SEED")...)
		sum := figures{}
		for _, out := range outs {
			f, bad := object(out)
			err = errors.Join(err, bad)
			sum["examples/s"] += f["examples/s"]
		}
		return sum, err
	}
}

// psLite runs a server and workers of ps-lite, three times at most: it fails now and then when many start at once.
func psLite(workers int, args string) work {
	return func(ctx context.Context, l *lab, _ int) (f figures, err error) {
		for range 3 {
			some, cancel := context.WithTimeout(ctx, time.Minute) // it hangs rather than end
			var outs []string
			_, outs, err = l.job(some, 1, workers, nil, append([]string{l.built["pslite"]}, strings.Fields(args)...)...)
			cancel()
			if err == nil {
				return traffic(outs)
			}
		}
		return nil, err
	}
}

// registers is what cores can do when nothing waits for memory, also as examples of the wide & deep net.
func registers(threads int) work {
	return func(ctx context.Context, l *lab, _ int) (figures, error) {
		out, err := l.run(ctx, l.dir, nil, l.built["registers"], strconv.Itoa(threads))
		f, err := parsed(out, err, object)
		return figures{"examples/s": f["GFLOP/s"] * 1e9 / flopsOfWide}, err
	}
}

// flopsOfWide are the operations of the products of an example of the wide & deep net, forward and backward.
const flopsOfWide = 6 * (247*512 + 512*256 + 256*128 + 128*32 + 32) // a multiplication and an addition, three times

// started is README's first command, from Enter to its end.
func started(cold bool) work {
	return func(ctx context.Context, l *lab, _ int) (figures, error) {
		var env []string
		if cold {
			cache, err := os.MkdirTemp(l.dir, "cache")
			if err != nil {
				return nil, err
			}
			env = []string{"GOCACHE=" + cache}
		}
		began := time.Now()
		out, err := l.run(ctx, l.root, env, "go", "run", "./fleet/fleetrun", "--server_num=2", "--worker_num=2",
			"--log_dir="+filepath.Join(l.dir, "log"), "./examples/wide_and_deep", "-out="+filepath.Join(l.dir, "out"))
		f, err := parsed(out, err, trained)
		if err == nil && f["AUC"] < 0.78 {
			err = fmt.Errorf("the test AUC is %v, want 0.78", f["AUC"])
		}
		return figures{"s": time.Since(began).Seconds(), "AUC": f["AUC"]}, err
	}
}
