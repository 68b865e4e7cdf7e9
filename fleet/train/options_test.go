package train

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/store/storetest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// parsed are options as a command line has them, with a default or two.
func parsed(args ...string) (Options, error) {
	o := Options{Mode: "async", Batch: 8, Epochs: 1}
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Register(fs)
	return o, errors.Join(fs.Parse(args), o.Check())
}

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := parsed("-mode=sync", "-codec=zstd", "-placement=HashName", `-strategy={"worker_timeout": "50s"}`, "-lr=0.5", "-epochs=3")
	law.Check(t, err)
	s, err := o.Strategy()
	if err != nil || s.Mode != strategy.ModeSync || s.Codec != "zstd" || s.Placement != "HashName" || s.WorkerTimeout.String() != "50s" {
		t.Errorf("the strategy is %v, error %v", s, err)
	}
	if o.Epochs != 3 || o.Batch != 8 || o.AdamOrSGD(0.1, 0.2) != (optimizer.Adam{LR: 0.5}) {
		t.Errorf("options are %+v with rule %v", o, o.AdamOrSGD(0.1, 0.2))
	}
	for _, mode := range strategy.Modes() {
		if _, err := parsed("-mode=" + string(mode)); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
	if o = (Options{}); o.Check() != nil || o.Batch != 0 || o.Epochs != 0 || o.Threads != 1 {
		t.Errorf("no options are %+v", o)
	}
}

// TestAdamOrSGD: geo adds up steps of SGD, the other modes run Adam.
func TestAdamOrSGD(t *testing.T) {
	t.Parallel()
	if got := (&Options{Mode: "geo"}).AdamOrSGD(0.1, 0.2); got != (optimizer.SGD{LR: 0.2}) {
		t.Errorf("geo's rule is %+v", got)
	}
	if got := (&Options{Mode: "sync"}).AdamOrSGD(0.1, 0.2); got != (optimizer.Adam{LR: 0.1}) {
		t.Errorf("sync's rule is %+v", got)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	mounted := storetest.Mount(t, storetest.NewMemory())
	for want, args := range map[string][]string{
		"-mode=often":           {"-mode=often"},
		"-k_steps=-3":           {"-k_steps=-3"},
		"-epochs=0":             {"-epochs=0"},
		"-batch=-1":             {"-batch=-1"},
		"-threads=0":            {"-threads=0"},
		"-eval_every=-1":        {"-eval_every=-1"},
		"-goback=-1":            {"-goback=-1"},
		"recovery: every is 1m": {"-checkpoint_every=1m"},
		`unknown field "speed"`: {`-strategy={"speed": 3}`},
		"codec":                 {"-codec=zip"},
		"-colour":               {"-colour=red"},
		"-out: \"hdfs://nn/x\"": {"-out=hdfs://nn/x"},
		"-load: \"s3://a\"":     {"-load=s3://a"},
		"-checkpoint: \"file:":  {"-checkpoint=file:///a"},
		"-journal: \"hdfs://":   {"-checkpoint=a", "-journal=hdfs://nn/x"},
		"-batch=0: both count from 1; a flag that is left out has its default": {"-batch=0"},
		"-journal=j without -checkpoint":                                       {"-journal=j"},
		"-tensorboard: \"mem":                                                  {"-tensorboard=" + mounted},
	} {
		if _, err := parsed(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

// learnt is what can be seen of a job that was run with some flags.
type learnt struct {
	strategy strategy.Strategy
	rule     optimizer.Rule
	result   Result
	said     string
	options  Options
}

// joins is how often a role joins a job of which each run goes back.
func joins(t *testing.T, o Options) (n int) {
	t.Helper()
	o.Checkpoint = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		err := play(t.Context(), &o, func() (Job, error) {
			n++
			g := nn.NewGraph(1)
			return Job{Options: o, Loss: nn.Mean(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{})), Rule: optimizer.SGD{LR: 1},
				Data: func(context.Context) (_, _ *dataset.Dataset, err error) { return nil, nil, fleet.ErrWentBack }}, nil
		})
		if !errors.Is(err, fleet.ErrWentBack) {
			t.Errorf("the last run ended with %v", err)
		}
	})
	return n
}

// TestRestsGrow: what has sent a role back may last, as a full disk does, so that a role whose runs are short rests longer before each next
// one, but not for as long as others wait for it.
//
// Promise: [G6] a role that goes back again soon rests longer each time, up to a minute
func TestRestsGrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runs         []time.Duration
		startTimeout time.Duration
		want         []int
	}{
		"short runs":                       {make([]time.Duration, 6), 0, []int{1, 4, 16, 60, 60}},
		"a long run between":               {[]time.Duration{0, 0, time.Minute, 0, 0}, 0, []int{1, 4, 1, 4}},
		"others that wait for ten seconds": {make([]time.Duration, 4), 10 * time.Second, []int{1, 4, 5}},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{Checkpoint: t.TempDir()}
			o.fill()
			o.goBack = len(c.want)
			var rests []int
			var ended time.Time
			err := play(t.Context(), &o, func() (Job, error) {
				if !ended.IsZero() {
					rests = append(rests, int(time.Since(ended).Seconds()))
				}
				g := nn.NewGraph(1)
				j := Job{Options: o, Loss: nn.Mean(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{})), Rule: optimizer.SGD{LR: 1}}
				j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) {
					time.Sleep(c.runs[len(rests)])
					ended = time.Now()
					return nil, nil, fleet.ErrWentBack
				}
				s, err := o.Strategy()
				s.StartTimeout = strategy.Duration(c.startTimeout)
				j.Strategy = &s
				return j, err
			})
			if !errors.Is(err, fleet.ErrWentBack) || !slices.Equal(rests, c.want) {
				t.Errorf("%s: it rests for %v seconds, want %v; the last run ended with %v", name, rests, c.want, err)
			}
		})
	}
}

// learn runs a job of one process.
func learn(t *testing.T, args ...string) (l learnt) {
	t.Helper()
	o, err := parsed(args...)
	law.Check(t, err)
	if l.strategy, err = o.Strategy(); err != nil {
		t.Fatal(err)
	}
	l.rule, l.options = o.AdamOrSGD(0.1, 0.1), o
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) (err error) {
		g := nn.NewGraph(1)
		y := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{})
		var said bytes.Buffer
		l.result, err = Job{Options: o, Loss: nn.Mean(nn.SquareError(y, g.Input("y", 1))), Rule: l.rule, Outputs: []*nn.Node{y}, Stdout: &said,
			Data: func(context.Context) (_, _ *dataset.Dataset, err error) { return line(100), line(10), nil }}.Run(ctx, f)
		l.said = said.String()
		return err
	})
	return l
}

// line are points of y = 2x.
func line(n int) *dataset.Dataset {
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i%21)/10 - 1
		y[i] = 2 * x[i]
	}
	return dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1))
}

// TestEveryFlagActs holds each flag to a difference it makes to a job. A new flag has none, and fails.
func TestEveryFlagActs(t *testing.T) {
	t.Parallel()
	plain, dir := learn(t), t.TempDir()
	before := plain.result.Epoch
	if again := learn(t).result.Epoch; before.Loss != again.Loss {
		t.Fatalf("the job comes to a loss of %v, then of %v", before.Loss, again.Loss)
	}
	effects := []struct {
		args, name string
		acts       func(l learnt) bool
	}{
		{"-mode=ssp", "mode", func(l learnt) bool { return l.strategy.Mode == strategy.ModeSSP }},
		{"-mode=geo -k_steps=7", "k_steps", func(l learnt) bool { return l.strategy.KSteps == 7 }},
		{`-strategy={"staleness":3,"mode":"ssp"}`, "strategy", func(l learnt) bool {
			return l.strategy == strategy.Strategy{Mode: "ssp", Staleness: 3, Placement: "RoundRobin", Codec: "none", Payload: "float32"}
		}},
		{"-placement=Balanced", "placement", func(l learnt) bool { return l.strategy.Placement == "Balanced" }},
		{"-codec=s2", "codec", func(l learnt) bool { return l.strategy.Codec == "s2" }},
		{"-payload=int8", "payload", func(l learnt) bool { return l.strategy.Payload == strategy.PayloadInt8 }},
		{"-seed=9", "seed", func(l learnt) bool {
			return l.result.Epoch.Loss != before.Loss && l.result.Epoch.Steps == before.Steps
		}},
		{"-epochs=3", "epochs", func(l learnt) bool {
			return strings.Contains(l.said, "epoch 3/3") && l.result.Epoch.Loss < before.Loss && len(l.result.History) == 3
		}},
		{"-threads=2", "threads", func(l learnt) bool { return l.result.Epoch.Steps == 14 && l.result.Epoch.Samples == 100 }}, // two shards of 50 in batches of 8
		{"-eval_every=5", "eval_every", func(l learnt) bool { return len(l.result.History) == 3 && l.result.History[1].Examples == 80 }},
		{"-batch=20", "batch", func(l learnt) bool { return l.result.Epoch.Steps == 5 && before.Steps == 13 }},
		{"-lr=0.001", "lr", func(l learnt) bool {
			return l.rule == optimizer.Adam{LR: 0.001} && l.result.Epoch.Loss > before.Loss
		}},
		{"-out=" + dir, "out", func(l learnt) bool {
			_, err := os.Stat(filepath.Join(dir, "checkpoint", "manifest.json"))
			return err == nil && strings.Contains(l.said, dir)
		}},
		{"-load=" + dir + "/checkpoint", "load", func(l learnt) bool { return l.result.Epoch.Loss < before.Loss/2 }},
		{"-goback=1", "goback", func(l learnt) bool { return joins(t, l.options) == 2 && joins(t, plain.options) == 4 }},
		{"-checkpoint=" + dir + "/ckpt", "checkpoint", func(l learnt) bool {
			latest, err := checkpoints.Latest(dir + "/ckpt")
			return err == nil && latest.Progress.Epoch == 1 && l.strategy.Recovery.Every == strategy.Duration(time.Minute)
		}},
		{"-checkpoint=" + dir + "/ckpt -checkpoint_every=5m -epochs=2", "checkpoint_every", func(l learnt) bool {
			return strings.Contains(l.said, "goes on after epoch 1/2") && l.strategy.Recovery.Every == strategy.Duration(5*time.Minute)
		}},
		{"-tensorboard=" + dir + "/board", "tensorboard", func(l learnt) bool {
			events, _ := filepath.Glob(dir + "/board/t*/events.out.tfevents.*")
			return len(events) == 2
		}},
		{"-log_json=-", "log_json", func(l learnt) bool { return strings.Contains(l.said, `{"epoch":1,"examples":100,"train_loss":`) }},
		{"-epochs=9 -lr=1e-12 -patience=2", "patience", func(l learnt) bool { return len(l.result.History) == 3 }},
		{"-checkpoint=" + dir + "/ckpt -journal=" + dir + "/journal", "journal", func(l learnt) bool {
			return l.strategy.Recovery.Journal == strategy.JournalProcess && l.strategy.Recovery.JournalDir == dir+"/journal"
		}},
	}
	shown := map[string]bool{"check": true, "nocheck": true, "predict": true, "eval": true, "by": true, "importance": true, // in place of a job, or before it: TestCheckFlag, TestNoCheckFlag, TestSavedModelOnFiles, TestExamination
		"pass_over": true} // TestADayIsAsItWasWhenItBegan
	for _, e := range effects {
		shown[e.name] = true
		if l := learn(t, strings.Fields(e.args)...); !e.acts(l) {
			t.Errorf("%s does nothing: %s", e.args, fmt.Sprintf("%+v", l))
		}
	}
	fs := flag.NewFlagSet("all", flag.ContinueOnError)
	new(Options).Register(fs)
	fs.VisitAll(func(f *flag.Flag) {
		if !shown[f.Name] {
			t.Errorf("nothing shows what -%s does", f.Name)
		}
	})
}

// TestStatus: a program says whether starting it again from the last checkpoint helps.
func TestStatus(t *testing.T) {
	t.Parallel()
	term := interrupted{syscall.SIGTERM}
	if got := status(fmt.Errorf("stopped: %w: %w: %w", term, fleet.ErrUnsaved, fleet.ErrWentBack)); got != 1 {
		t.Errorf("SIGTERM where nothing was saved, since all went back meanwhile, ends a program with status %d", got)
	}
	for want, err := range map[int]error{1: errors.New("no such file"), 75: fmt.Errorf("worker 1: %w", fleet.ErrWentBack),
		2: usage{errors.New("-batch=x")}} {
		if got := status(err); got != want {
			t.Errorf("%v ends a program with status %d, want %d", err, got, want)
		}
	}
}

// TestChosenStatus: FLEET_EXIT_RESTART chooses the status of a role that is to be started again, and another word for it makes no sense.
func TestChosenStatus(t *testing.T) {
	// Serial: it sets a variable of the environment.
	t.Setenv("FLEET_EXIT_RESTART", "138")
	if got := status(fmt.Errorf("worker 1: %w", fleet.ErrWentBack)); got != 138 {
		t.Errorf("status %d, want 138", got)
	}
	t.Setenv("FLEET_EXIT_RESTART", "again")
	err := start(&Options{}, nil, func() (Job, error) { return Job{}, errors.New("a job was made") })
	if err == nil || !strings.Contains(err.Error(), `FLEET_EXIT_RESTART is "again"`) || status(err) != 2 {
		t.Errorf("error %v, status %d", err, status(err))
	}
}

// TestStart: a program whose command line makes no sense makes no job; another runs the job it makes, alone where no environment says more.
func TestStart(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such file")
	for _, c := range []struct {
		o     Options
		args  []string
		fails error
		want  string
	}{{args: []string{"rows"}, want: `unexpected argument "rows"`}, {o: Options{Epochs: -1}, want: "-epochs=-1"}, {fails: broken, want: broken.Error()}, {want: "Job.Loss is nil"}} {
		made := false
		err := start(&c.o, c.args, func() (Job, error) { made = true; return Job{}, c.fails })
		if err == nil || !strings.Contains(err.Error(), c.want) || made != (status(err) == 1) {
			t.Errorf("%+v: made %t, error %v, want %q", c, made, err, c.want)
		}
	}
}

// TestCheckFlag: a program with -check says what it has seen, trains and writes nothing, and ends well unless training would fail.
func TestCheckFlag(t *testing.T) {
	t.Parallel()
	for label, fails := range map[float32]bool{1: false, 7: true} {
		var said bytes.Buffer
		dir := t.TempDir()
		o, err := parsed("-check", "-out="+dir, "-checkpoint="+dir)
		law.Check(t, err)
		err = start(&o, nil, func() (Job, error) {
			g := nn.NewGraph(1)
			rows := dataset.FromColumns(dataset.FloatValues("x", []float32{0, 1, 2}, 1), dataset.FloatValues("y", []float32{0, label, 0}, 1))
			return Job{Options: o, Stdout: &said, Rule: optimizer.SGD{LR: 0.1},
				Loss: nn.Mean(nn.BinaryCrossEntropyWithLogits(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("y", 1))),
				Data: func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) { return rows, nil, nil }}, nil
		})
		if fails != (err != nil) || fails && status(err) != 1 || !strings.Contains(said.String(), "rows: 3 to train on") {
			t.Errorf("label %v: error %v, it said\n%s", label, err, &said)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("it has written %v, %v", left, err)
		}
	}
}

// TestNoCheckFlag: a program looks at its rows before it trains, unless it is not to.
func TestNoCheckFlag(t *testing.T) {
	// Serial: it reads the log.
	before := slog.Default()
	defer slog.SetDefault(before)
	for flag, looks := range map[string]bool{"-epochs=1": true, "-nocheck": false} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		o, err := parsed(flag, "-mode=sync")
		law.Check(t, err)
		err = start(&o, nil, func() (Job, error) {
			g := nn.NewGraph(1)
			rows := dataset.FromColumns(dataset.FloatValues("x", []float32{1, 1, 1}, 1), dataset.FloatValues("y", []float32{0, 1, 0}, 1))
			return Job{Options: o, Stdout: io.Discard, Rule: optimizer.SGD{LR: 0.1},
				Loss: nn.Mean(nn.SquareError(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}), g.Input("y", 1))),
				Data: func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) { return rows, nil, nil }}, nil
		})
		if said := strings.Contains(log.String(), `feed \"x\" is the same in every row`); err != nil || said != looks {
			t.Errorf("%s: error %v, it said\n%s", flag, err, &log)
		}
	}
	if _, err := parsed("-check", "-nocheck"); err == nil || !strings.Contains(err.Error(), "-nocheck") {
		t.Errorf("-check and -nocheck: %v", err)
	}
}

// TestFitting: the options that fit a number of rows change at the numbers that the doc of Options has. A rate that is named is taken.
func TestFitting(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]order{-1: {Batch: 512, Epochs: 1}, 0: {Batch: 32, Epochs: 50, Patience: 3}, 9_999: {Batch: 32, Epochs: 50, Patience: 3},
		10_000: {Batch: 64, Epochs: 20, Patience: 3}, 100_000: {Batch: 256, Epochs: 5, Patience: 2}, 1_000_000: {Batch: 512, Epochs: 1}} {
		if got := new(Options).fitting(rows, 1); got != want {
			t.Errorf("for %d rows %+v fits, want %+v", rows, got, want)
		}
	}
	for _, c := range []struct{ rows, epochs, lanes, want int }{
		{200_000, 0, 8, 256}, {200_000, 1, 8, 256}, {200_000, 1, 16, 64}, {1_000_000, 0, 8, 512}, {1_000_000, 0, 16, 256},
		{99_999, 0, 16, 64}, {20_000, 1, 8, 32}, {200, 0, 16, 32}, {-1, 0, 16, 512}, {5_000, 0, 2, 32},
	} {
		o := Options{Epochs: c.epochs}
		if got := o.fitting(c.rows, c.lanes).Batch; got != c.want {
			t.Errorf("for %d rows, %d epochs and %d gradients at a time a batch of %d fits, want %d", c.rows, c.epochs, c.lanes, got, c.want)
		}
	}
	for flag, want := range map[string]float64{"-lr=0.5": 0.5, "-batch=1": 3} {
		if o, err := parsed(flag); err != nil || o.Rate(3) != want {
			t.Errorf("%s: the rate is %v, want %v, error %v", flag, o.Rate(3), want, err)
		}
	}
	if _, err := parsed("-lr=0"); err == nil || !strings.Contains(err.Error(), "nothing is learnt at this rate") {
		t.Errorf("-lr=0: %v", err)
	}
}
