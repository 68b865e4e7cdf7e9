package torchtest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
)

var (
	trainings = flag.Int("trainings", 5, "of each example and of its net in PyTorch, each with a seed")
	cores     = flag.Int("cores", 1, "of each side; more than 1 are timed by the clock: nothing else should run")
)

//go:embed twin.py
var twin []byte

// pass is what a net has after a pass over the rows, and how fast it passed.
type pass struct {
	Rate   float64            `json:"rate"`
	Values map[string]float64 `json:"values"`
}

// CompareTwin trains an example alone and its twin, net.py beside it, which is the same net in PyTorch, on as many
// cores each, in turn, from the same weights, with some seeds. It fails where the mean of a value on the test rows is
// after any epoch more than 0.003 below the twin's, and by two standard errors of the difference of the means more than
// that, as the seeds show them: what each draws for itself, such as what Dropout drops, moves a mean of five by several
// thousandths. Fewer than three trainings show no error, and their values are not judged. It fails too where the rate
// is below so many times the twin's: examples a second, of one core's processor time, since others may have a part.
func CompareTwin(t *testing.T, program jobtest.Program, faster float64, args ...string) {
	needTorch(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(*cores))
	var ours, theirs [][]pass // by seed and epoch
	for seed := range *trainings {
		args := append([]string{"-out=", fmt.Sprint("-seed=", seed+1)}, args...)
		ours = append(ours, trained(t, program, args))
		theirs = append(theirs, twins(t, job(t, program, args), seed))
	}
	for epoch := range ours[0] {
		for _, name := range slices.Sorted(maps.Keys(theirs[0][epoch].Values)) {
			value := func(p pass) float64 { return p.Values[name] }
			a, b := spreadOf(ours, epoch, value), spreadOf(theirs, epoch, value)
			t.Logf("epoch %d: %s %v, PyTorch's %v", epoch+1, name, a, b)
			off := math.Hypot(a.off, b.off)
			if *trainings >= 3 && !(a.mean >= b.mean-0.003-2*off) {
				t.Errorf("epoch %d: mean %s %.4f, PyTorch's %.4f, and their difference is off by %.4f", epoch+1, name,
					a.mean, b.mean, off)
			}
		}
	}
	rate := func(of [][]pass) (best float64) {
		for _, passes := range of {
			for _, p := range passes {
				best = max(best, p.Rate)
			}
		}
		return best
	}
	a, b := rate(ours), rate(theirs)
	t.Logf("examples a second on %d cores, the best pass: %.0f, PyTorch's %.0f: %.2f times as many", *cores, a, b, a/b)
	if a < faster*b {
		t.Errorf("%.2f times as many examples a second as PyTorch, want %.1f", a/b, faster)
	}
}

// recalls are what package retrieval prints after each epoch.
var recalls = regexp.MustCompile(`(?m)^recall@10 ([0-9.]+)`)

// needTorch skips a test for which there is no PyTorch.
func needTorch(t *testing.T) {
	if *python == "" {
		t.Skip("it needs a Python with PyTorch: -torch=python3")
	}
}

func job(t *testing.T, program jobtest.Program, args []string) train.Job {
	t.Helper()
	j, err := jobtest.Job(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// trained trains an example alone, an epoch after the other.
func trained(t *testing.T, program jobtest.Program, args []string) (passes []pass) {
	t.Helper()
	var rates []float64
	var began, last time.Duration
	hooks := train.Hooks{
		EpochBegin: func(context.Context, *train.Run) error { began = clock(); return nil },
		Step:       func(context.Context, *train.Run, nn.TrainResult) error { last = clock(); return nil },
		EpochEnd: func(_ context.Context, _ *train.Run, done nn.TrainResult) error {
			rates = append(rates, float64(done.Samples)/(last-began).Seconds())
			return nil
		},
	}
	timed := func(fs *flag.FlagSet) (*train.Options, func() (train.Job, error)) {
		o, job := program(fs)
		return o, func() (train.Job, error) {
			j, err := job()
			j.Hooks = append(j.Hooks, hooks)
			return j, err
		}
	}
	res, said := jobtest.Run(t, 0, 1, timed, args...)
	for i, e := range res.History {
		values := map[string]float64{}
		for name, v := range e.Values {
			values[strings.TrimPrefix(name, "test ")] = v
		}
		passes = append(passes, pass{rates[i], values})
	}
	for i, found := range recalls.FindAllStringSubmatch(said, -1) {
		passes[i].Values["recall@10"], _ = strconv.ParseFloat(found[1], 64)
	}
	return passes
}

var start = time.Now()

// clock times one core by what it did for this process.
func clock() time.Duration {
	if *cores == 1 {
		return processorTime()
	}
	return time.Since(start)
}

// twins trains the twin from the same weights on the same rows in the same order.
func twins(t *testing.T, j train.Job, seed int) (passes []pass) {
	t.Helper()
	dir := t.TempDir()
	writeFirst(t, j, dir)
	writePasses(t, j, dir, j.Epochs)
	for line := range strings.Lines(runTwin(t, j, dir, fmt.Sprint(seed))) {
		var p pass
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		passes = append(passes, p)
	}
	return passes
}

// writePasses writes the test rows and each epoch's.
func writePasses(t *testing.T, j train.Job, dir string, epochs int) {
	t.Helper()
	rows, test, err := j.Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	errs := []error{writePass(filepath.Join(dir, "test"), test, 2048)}
	for epoch := range epochs {
		errs = append(errs, writePass(filepath.Join(dir, fmt.Sprint("epoch", epoch)), rows.Shuffle(j.Seed).Epoch(epoch),
			j.Batch))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// runTwin is what the twin prints.
func runTwin(t *testing.T, j train.Job, dir string, args ...string) string {
	t.Helper()
	script := filepath.Join(dir, "twin.py")
	if err := os.WriteFile(script, twin, 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{script, "net.py", dir, fmt.Sprint(j.Epochs), fmt.Sprint(j.Batch)}, args...)
	cmd := exec.CommandContext(t.Context(), *python, args...)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), fmt.Sprint("OMP_NUM_THREADS=", *cores))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return string(out)
}

// writePass writes the columns of rows as batches have them, each as a file of little-endian numbers.
func writePass(dir string, rows *dataset.Dataset, batch int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	type column struct {
		Name  string `json:"name"`
		Kind  string `json:"kind"`
		Shape []int  `json:"shape"`
	}
	var columns []column
	bytes := map[string][]byte{}
	for batch, err := range rows.Batches(batch) {
		if err != nil {
			return err
		}
		columns = nil
		for _, name := range slices.Sorted(maps.Keys(batch)) {
			c := column{Name: name, Kind: "<i8", Shape: batch[name].Shape()[1:]}
			if batch[name].Dtype() == tensor.Float32 {
				c.Kind = "<f4"
			}
			columns = append(columns, c)
			appended(bytes, name, batch[name].Data())
		}
	}
	head, err := json.Marshal(columns)
	if err != nil {
		return err
	}
	bytes["columns.json"] = head
	for name, data := range bytes {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// spread is the mean of numbers, its standard error, and the least and the largest.
type spread struct{ mean, off, least, most float64 }

func (s spread) String() string {
	return fmt.Sprintf("%.4f ± %.4f (%.4f–%.4f)", s.mean, s.off, s.least, s.most)
}

func spreadOf(of [][]pass, epoch int, value func(pass) float64) spread {
	s := spread{least: math.Inf(1), most: math.Inf(-1)}
	for _, passes := range of {
		v := value(passes[epoch])
		s.mean, s.least, s.most = s.mean+v/float64(len(of)), min(s.least, v), max(s.most, v)
	}
	for _, passes := range of {
		s.off += math.Pow(value(passes[epoch])-s.mean, 2)
	}
	s.off = math.Sqrt(s.off / float64(max(1, len(of)-1)*len(of)))
	return s
}

// SameWeights trains an example and its twin from the same weights on the same rows in the same order, all rows of
// tables moving in each step, and fails where a weight of both is not the same to 1e-4 after so many steps. Adam has
// the epsilon: a gradient that is nothing but rounding makes no step then. Nothing is dropped, which args say to the
// example.
func SameWeights(t *testing.T, program jobtest.Program, steps int, epsilon float64, args ...string) {
	needTorch(t)
	j := job(t, program, args)
	dir := t.TempDir()
	first := writeFirst(t, j, dir)
	writePasses(t, j, dir, 1)
	var theirs map[string][]float32
	if err := json.Unmarshal([]byte(runTwin(t, j, dir, "0", fmt.Sprint(steps), fmt.Sprint(epsilon))),
		&theirs); err != nil {
		t.Fatal(err)
	}

	ours := stepped(t, j, steps, epsilon, first)
	for name, w := range ours {
		if len(theirs[name]) != len(w) {
			t.Errorf("%s has %d elements, PyTorch's %d", name, len(w), len(theirs[name]))
			continue
		}
		far, moved := 0.0, 0.0
		for i, v := range w {
			far = max(far, math.Abs(float64(v-theirs[name][i])))
			moved = max(moved, math.Abs(float64(v-first[name][i])))
		}
		t.Logf("%s: %.1e apart at most, moved by %.3f", name, far, moved)
		if !(far < 1e-4) || moved == 0 {
			t.Errorf("%s: %.1e apart, moved by %.3f", name, far, moved)
		}
	}
}

// writeFirst writes the weights that an example's training begins with, and returns them.
func writeFirst(t *testing.T, j train.Job, dir string) map[string][]float32 {
	t.Helper()
	first := map[string][]float32{}
	for _, p := range j.Loss.Params() {
		if !p.Frozen {
			first[p.Name] = firstWeights(p)
		}
	}
	head, err := json.Marshal(first)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "first.json"), head, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// firstWeights are what training begins with.
func firstWeights(p *optimizer.Param) []float32 {
	w := make([]float32, p.Shape[0]*p.Dim())
	if !p.Embedding {
		p.First(w)
		return w
	}
	for id := range p.Height() {
		p.InitRow(w[id*p.Dim():(id+1)*p.Dim()], uint64(id))
	}
	return w
}

// stepped are the weights after some steps of an example's job, all rows of tables moving in each.
func stepped(t *testing.T, j train.Job, steps int, epsilon float64, first map[string][]float32) map[string][]float32 {
	t.Helper()
	data := j.Data
	j.Data = func(ctx context.Context) (rows, test *dataset.Dataset, err error) {
		rows, _, err = data(ctx)
		return rows.Shuffle(j.Seed).Epoch(0).Take(steps * j.Batch), nil, err
	}
	j.Rows = func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows }
	rate, _ := j.Rule.(optimizer.Adam)
	rate.Dense = true
	rate.Epsilon = epsilon
	j.Rule, j.Hooks, j.Epochs, j.Out, j.Stdout = rate, nil, 1, t.TempDir(), io.Discard
	j.Outputs = []*nn.Node{j.Loss}
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		_, err := j.Run(ctx, f)
		return err
	})
	file, err := weights.Open(t.Context(), filepath.Join(j.Out, "model"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	last := map[string][]float32{}
	for _, p := range j.Loss.Params() {
		if w := slices.Clone(first[p.Name]); p.Embedding {
			for row, err := range file.Rows(p.Name) {
				if err != nil {
					t.Fatal(err)
				}
				copy(w[int(row.ID)*p.Dim():], row.W)
			}
			last[p.Name] = w
		} else if !p.Frozen {
			a, err := file.Array(p.Name)
			if err != nil {
				t.Fatal(err)
			}
			last[p.Name] = a.Values
		}
	}
	return last
}
