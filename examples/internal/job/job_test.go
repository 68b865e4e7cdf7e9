package job

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job/jobtest"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func parsed(args ...string) (Flags, error) { return flags(args) }

func flags(args []string) (Flags, error) {
	c := Flags{Mode: "async", Batch: 8, Epochs: 1}
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Register(fs)
	return c, c.Parse(args)
}

func TestFlags(t *testing.T) {
	c, err := parsed("-mode=sync", "-codec=zstd", "-placement=HashName", `-strategy={"worker_timeout": "50s"}`, "-lr=0.5", "-epochs=3")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Strategy()
	if err != nil || s.Mode != strategy.ModeSync || s.Codec != "zstd" || s.Placement != "HashName" || s.WorkerTimeout.String() != "50s" {
		t.Errorf("the strategy is %v, error %v", s, err)
	}
	if c.Epochs != 3 || c.Batch != 8 || c.Rule(0.1, 0.2) != (optimizer.Adam{LR: 0.5}) {
		t.Errorf("flags are %+v with rule %v", c, c.Rule(0.1, 0.2))
	}
	for _, mode := range strategy.Modes() {
		if _, err := parsed("-mode=" + string(mode)); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
}

// TestRule: geo adds up steps of SGD, the other modes run Adam.
func TestRule(t *testing.T) {
	if got := (&Flags{Mode: "geo"}).Rule(0.1, 0.2); got != (optimizer.SGD{LR: 0.2}) {
		t.Errorf("geo's rule is %+v", got)
	}
	if got := (&Flags{Mode: "sync"}).Rule(0.1, 0.2); got != (optimizer.Adam{LR: 0.1}) {
		t.Errorf("sync's rule is %+v", got)
	}
}

func TestBadFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`"rows" is no flag`:     {"-mode=sync", "rows"},
		"-mode=often":           {"-mode=often"},
		"-k_steps=-3":           {"-k_steps=-3"},
		"-epochs=0":             {"-epochs=0"},
		"-batch=-1":             {"-batch=-1"},
		"-threads=0":            {"-threads=0"},
		"recovery: every is 1m": {"-checkpoint_every=1m"},
		`unknown field "speed"`: {`-strategy={"speed": 3}`},
		"codec":                 {"-codec=zip"},
		"-colour":               {"-colour=red"},
	} {
		if _, err := parsed(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

// line is a model that learns y = 2x.
type line struct {
	graph   *nn.Graph
	y, loss *nn.Node
}

func newLine() line {
	g := nn.NewGraph(1)
	x, label := g.Input("x", 1), g.Input("y", 1)
	y := nn.Linear(x, 1, nn.LinearOptions{})
	return line{g, y, nn.Mean(nn.SquareError(y, label))}
}

func points(n int) *dataset.Dataset {
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i%21)/10 - 1
		y[i] = 2 * x[i]
	}
	return dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1))
}

// TestPlay runs a whole job: every role plays its part, epochs have their own rows, worker 0 tests and saves.
func TestPlay(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {2, 2}} {
		dir := t.TempDir()
		var mu sync.Mutex
		var said bytes.Buffer
		asked := map[int]int{}
		fleettest.Run(t, size[0], size[1], func(ctx context.Context, f *fleet.Fleet) error {
			c, err := parsed("-epochs=2", "-mode=sync", "-out="+dir)
			if err != nil {
				return err
			}
			s, err := c.Strategy()
			if err != nil {
				return err
			}
			net := newLine()
			return Training{Loss: net.loss, Rule: optimizer.SGD{LR: 0.2}, Strategy: s}.Play(ctx, f, func(ctx context.Context) error {
				rows := func(epoch int) *dataset.Dataset {
					mu.Lock()
					defer mu.Unlock()
					asked[epoch]++
					return points(1000)
				}
				var out bytes.Buffer
				last, err := Epochs(ctx, f, net.graph, c, rows, &out, net.loss)
				if err != nil || !f.IsFirstWorker() {
					return err
				}
				if want := 1000 / f.WorkerNum(); last.Samples != want {
					t.Errorf("worker 0 trained on %d examples in the last epoch, want %d", last.Samples, want)
				}
				if last.Last[0].Float32s()[0] > 1e-4 {
					t.Errorf("the line is off by %v", last.Last[0])
				}
				if _, err := Evaluate(ctx, f, net.loss, points(2)); err == nil {
					t.Error("a loss was taken for a metric")
				}
				mu.Lock()
				defer mu.Unlock()
				err = Save(ctx, f, c.Out, &out, net.y)
				said.Write(out.Bytes())
				return err
			})
		})
		if asked[0] != size[1] || asked[1] != size[1] || len(asked) != 2 {
			t.Errorf("%d workers asked for the rows of epochs %v", size[1], asked)
		}
		if got := said.String(); !strings.Contains(got, "epoch 1/2") || !strings.Contains(got, "saved "+dir+"/checkpoint") {
			t.Errorf("worker 0 said %q", got)
		}
		for _, file := range []string{"checkpoint/manifest.json", "model/graph.json"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestThreads: the threads of a worker share its rows, and learn what one does.
func TestThreads(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {2, 2}} {
		jobtest.Run(t, size[0], size[1], []string{"-threads=3", "-epochs=3"}, flags,
			func(ctx context.Context, f *fleet.Fleet, c Flags, out io.Writer) (last nn.TrainResult, err error) {
				net := newLine()
				err = Training{Loss: net.loss, Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Async()}.Play(ctx, f, func(ctx context.Context) error {
					last, err = Epochs(ctx, f, net.graph, c, func(int) *dataset.Dataset { return points(1000) }, out, net.loss)
					if want := 1000 / f.WorkerNum(); err == nil && (last.Samples != want || last.Loss > 0.2) {
						t.Errorf("worker %d: %d examples, want %d; loss %v", f.WorkerIndex(), last.Samples, want, last.Loss)
					}
					return err
				})
				return last, err
			})
	}
}

// TestLoad: what a cluster has saved, another of any size goes on from, as do workers without servers and a process alone.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	train := func(servers, workers int, lr float64, args ...string) (loss float64) {
		last, _ := jobtest.Run(t, servers, workers, append(args, "-mode=sync"), flags,
			func(ctx context.Context, f *fleet.Fleet, c Flags, out io.Writer) (last nn.TrainResult, err error) {
				s, err := c.Strategy()
				if err != nil {
					return last, err
				}
				net := newLine()
				err = Training{Loss: net.loss, Rule: optimizer.SGD{LR: lr}, Strategy: s, Load: c.Load}.Play(ctx, f, func(ctx context.Context) error {
					last, err = Epochs(ctx, f, net.graph, c, func(int) *dataset.Dataset { return points(1000) }, out)
					if err != nil || !f.IsFirstWorker() {
						return err
					}
					return Save(ctx, f, c.Out, out, net.y)
				})
				return last, err
			})
		return last.Loss
	}
	if loss := train(2, 2, 0.2, "-out="+dir); loss < 1e-3 {
		t.Errorf("the first epoch has a loss of %v already", loss)
	}
	for _, size := range [][2]int{{0, 1}, {1, 1}, {3, 2}, {0, 2}} {
		if loss := train(size[0], size[1], 1e-9, "-load="+dir+"/checkpoint"); loss > 1e-4 {
			t.Errorf("%d servers and %d workers go on with a loss of %v", size[0], size[1], loss)
		}
	}
}

// TestPlayFails: what goes wrong in a worker's part comes back, and no directory saves nothing.
func TestPlayFails(t *testing.T) {
	broken := errors.New("no data today")
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		net := newLine()
		err := Training{Loss: net.loss, Rule: optimizer.SGD{LR: 0.2}, Strategy: strategy.Async()}.Play(ctx, f, func(context.Context) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
		return Save(ctx, f, "", io.Discard, net.y)
	})
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		net := newLine()
		if err := (Training{Loss: net.loss, Rule: optimizer.SGD{LR: -1}, Strategy: strategy.Async()}).Play(ctx, f, nil); err == nil {
			t.Error("a negative rate was taken")
		}
		return nil
	})
}

// TestStart: arguments that can't be parsed start nothing; a program gets what was parsed and the fleet of its environment.
func TestStart(t *testing.T) {
	for _, want := range []int{0, 3} {
		ran := 0
		err := start([]string{"-h"}, func(args []string) (int, error) {
			if want == 0 {
				return 0, flag.ErrHelp
			}
			return want, nil
		}, func(ctx context.Context, f *fleet.Fleet, c int, out io.Writer) (string, error) {
			if f.IsLocal() && ctx.Err() == nil {
				ran = c
			}
			return "", nil
		})
		if ran != want || errors.Is(err, flag.ErrHelp) != (want == 0) {
			t.Errorf("ran with %d, want %d; error %v", ran, want, err)
		}
	}
}

// TestBinary: a whole program, alone and on a cluster, gives the AUC of the test rows on worker 0.
func TestBinary(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {1, 2}} {
		dir := t.TempDir()
		auc, said := jobtest.Run(t, size[0], size[1], []string{"-out=" + dir}, flags, func(ctx context.Context, f *fleet.Fleet, c Flags, out io.Writer) (float64, error) {
			g := nn.NewGraph(1)
			b := NewBinary(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{Act: nn.Sigmoid}), g.Input("y", 1))
			return b.Train(ctx, f, c, optimizer.SGD{LR: 0.5}, func(context.Context) (train, test *dataset.Dataset, err error) {
				return Split(signs(500), 1)
			}, out)
		})
		if auc < 0.999 || !strings.Contains(said, "test AUC ") || !strings.Contains(said, "saved "+dir) {
			t.Errorf("AUC %.4f; worker 0 said\n%s", auc, said)
		}
	}
}

// signs are points whose label is 1 above 0.
func signs(n int) *dataset.Dataset {
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i%20)/10 - 0.95
		if x[i] > 0 {
			y[i] = 1
		}
	}
	return dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1))
}

func TestSplit(t *testing.T) {
	train, test, err := Split(points(1000), 1)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := train.Len()
	b, _ := test.Len()
	if a+b != 1000 || a < 750 || a > 850 {
		t.Errorf("%d and %d rows", a, b)
	}
	if _, _, err := Split(points(0), 1); err == nil || !strings.Contains(err.Error(), "to train on") {
		t.Errorf("no rows: error %v", err)
	}
}

// TestRows reads a file, and the files of a directory; what holds no rows is refused with its name.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"full/a": "x:1\n", "full/b": "x:2\nx:3\n", "full/.c": "?", "full/sub/d": "x:4\n", "hidden/.c": "x:5\n", "empty": "", "bad": "y\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	format := dataset.SlotText{Slots: []dataset.SlotColumn{{Column: dataset.Ints("x", 1)}}}
	for name, want := range map[string]int{"full": 3, "full/b": 2} {
		rows, err := Rows(t.Context(), format, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := rows.Len(); n != want {
			t.Errorf("%s has %d rows, want %d", name, n, want)
		}
	}
	for name, want := range map[string]string{"empty": "holds no rows", "hidden": "holds no files", "none": "none", "bad": "bad"} {
		if _, err := Rows(t.Context(), format, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
