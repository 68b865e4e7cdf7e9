package nn

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// onCores has cells be divided however small they are, among so many cores, until the test ends.
func onCores(t testing.TB, n int) {
	procs, divided, portion, rows, units, beside := runtime.GOMAXPROCS(n), leastDivided, leastPortion, leastRows, unitsAtATime, leastAside
	leastDivided, leastPortion, leastRows, unitsAtATime, leastAside = 1, 1, 4, 1, 1
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		leastDivided, leastPortion, leastRows, unitsAtATime, leastAside = divided, portion, rows, units, beside
	})
}

// trainedBits are all numbers that some steps come to.
func trainedBits(t *testing.T, loss, out *Node, feed batchOf, steps int) (all []float32, divided map[string]bool) {
	t.Helper()
	k := minimise(t, loss, 0.01)
	e := NewExecutor(loss.graph)
	defer e.Close(t.Context())
	divided = map[string]bool{}
	for range steps {
		for _, fetched := range must(t, e, feed, out, loss) {
			all = append(all, fetched.Float32s()...)
		}
		for _, p := range loss.Params() {
			all = append(all, k.gradient(p.Name, p.Size())...)
		}
	}
	for _, p := range e.plans {
		for _, c := range p.dividedCells() {
			divided[c.node.op.kind()] = true
		}
	}
	evaluated, err := e.Eval(t.Context(), feed, out)
	law.Check(t, err)
	return append(all, evaluated[0].Float32s()...), divided
}

// dividedCells are those that the last step computed by portions.
func (p *plan) dividedCells() (all []*cell) {
	for _, s := range p.chains {
		if s.n > 1 {
			all = append(all, s.cells...)
		}
		for _, one := range s.alone {
			if s.n == 0 && one.n > 1 {
				all = append(all, one.cells...)
			}
		}
	}
	return all
}

// TestCoresAgree: each op has the same bits in values and gradients, whatever the number of cores, where it is used twice and for
// batches of several sizes.
//
// Promise: [G2] ops that share a large batch out to cores have the same values, gradients, dropped elements and
// scores on any number of them, and with calls side by side
// Also: TestCoresTrainModels, TestCoresDrop, TestCoresScore, TestRoundsByPortions (internal/update)
func TestCoresAgree(t *testing.T) {
	law.Slow(t)
	divided := map[string]bool{}
	check := func(t *testing.T, c gradientCase) {
		train := func(cores int) []float32 {
			onCores(t, cores)
			g, feed := NewGraph(1), batchOf{}
			nodes := make([]*Node, len(c.args))
			for i, a := range c.args {
				nodes[i] = a.node(g, feed, fmt.Sprintf("in%d", i), a.draw(uint32(i)))
			}
			out := c.build(slices.Clone(nodes))
			again := c.build(nodes)
			all, some := trainedBits(t, Add(Mean(Multiply(out, out)), Mean(again)), out, feed, 3)
			maps.Copy(divided, some)
			return all
		}
		want := train(1)
		for _, cores := range []int{2, 3} {
			sameBits(t, fmt.Sprintf("%d cores", cores), train(cores), want)
		}
	}
	for _, c := range gradientCases {
		t.Run(c.name, func(t *testing.T) { check(t, c.larger(3)) })
	}
	for _, c := range sizedCases {
		for seed := range uint64(law.Share(4)) {
			t.Run(c.name, func(t *testing.T) { check(t, c.make(5, sizes(seed, 9))) })
		}
	}
	for kind := range recipes {
		if _, is := mustMake(t, kind).(byExample); is && !divided[kind] && kind != "dropout" {
			t.Errorf("no case divided %s", kind)
		}
	}
}

// larger is the case with several times as many examples.
func (c gradientCase) larger(times int) gradientCase {
	c.args = slices.Clone(c.args)
	for i, a := range c.args {
		switch a.kind {
		case slot:
			return c
		case parameter, tableRows:
		default:
			c.args[i].shape = append([]int{times * a.shape[0]}, a.shape[1:]...)
		}
	}
	return c
}

func mustMake(t *testing.T, kind string) op {
	t.Helper()
	o, err := recipes[kind].make(attributesOf(kind))
	law.Check(t, err)
	return o
}

func sameBits(t *testing.T, who string, got, want []float32) {
	t.Helper()
	if err := near(got, want, 0, 0); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}

// TestCoresTrainModels: whole models have the same bits on several cores, what is dropped among them, and take no memory once they run.
func TestCoresTrainModels(t *testing.T) {
	law.Slow(t)
	for name, model := range law.SomeOf(t, timedModels) {
		t.Run(name, func(t *testing.T) {
			train := func(cores int) []float32 {
				runtime.GOMAXPROCS(cores)
				loss, feed := model()
				all, _ := trainedBits(t, loss, loss, feed, 2)
				return all
			}
			procs := runtime.GOMAXPROCS(1)
			defer runtime.GOMAXPROCS(procs)
			want := train(1)
			sameBits(t, "2 cores", train(2), want)
		})
	}
}

// TestCoresDrop: a portion drops what the whole does, wherever it begins.
func TestCoresDrop(t *testing.T) {
	train := func(cores, width int) []float32 {
		onCores(t, cores)
		g := NewGraph(1)
		x := g.Input("x", width)
		y := Dropout(Multiply(x, g.Parameter(ParameterOptions{Name: "w"}, width)), 0.5)
		all, _ := trainedBits(t, Mean(Square(y)), y, batchOf{"x": floats([]int{7, width}, uniform(3, 7*width, 1, 2)...)}, 3)
		return all
	}
	for _, width := range []int{1, 3, 8} {
		sameBits(t, fmt.Sprint(width, " wide"), train(3, width), train(1, width))
	}
}

// TestCoresAllocateNothing: a step on several cores takes no memory, neither does one of another size that fits.
func TestCoresAllocateNothing(t *testing.T) {
	law.Slow(t)
	countsAllocations(t)
	loss, feed := timedModels["transformer"]()
	loss.Bind(still{})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	e := NewExecutor(loss.graph)
	step := func() { must(t, e, feed, loss) }
	step()
	if len(e.plans[0].dividedCells()) == 0 {
		t.Fatal("no cell was divided")
	}
	if n := testing.AllocsPerRun(5, step); n > 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

// TestThreadsShareCores: executors of several training threads, each with a share of the cores, agree with what one has alone.
func TestThreadsShareCores(t *testing.T) {
	onCores(t, 4)
	var c cores
	for threads, want := range map[int]int{0: 4, 1: 4, 2: 2, 3: 1, 8: 1} {
		if c.ready(threads); c.n != want {
			t.Errorf("%d threads: %d cores each, want %d", threads, c.n, want)
		}
	}
}

// TestCoresScore: calls of a frozen graph that run at once, each on several cores, have the bits of one core.
func TestCoresScore(t *testing.T) {
	onCores(t, 1)
	n := newToy(7)
	f, err := Inference(n.pred).Freeze()
	law.Check(t, err)
	feeds := n.batch(100, 40)
	score := func() []float32 { return f.call(t, feeds)[0] }
	want := score()
	onCores(t, 3)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 20 {
				sameBits(t, "a call beside others", score(), want)
			}
		})
	}
	running.Wait()
}
