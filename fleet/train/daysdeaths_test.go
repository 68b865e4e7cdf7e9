package train_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// mortalDays is a job of days of which roles die, by a seed: each of the strikes at a call of worker 0 or 1 to a server, before it is
// delivered or behind its answer.
type mortalDays struct {
	mortal
	Journal bool
	Grows   bool // days are trained in parts, as their files come
	Strikes []dayStrike
}

type dayStrike struct {
	Role   string
	By, At int // that worker's call
	Behind bool
	Away   time.Duration // until it is started again, if it is a worker
}

const dayRows, dayCount = 40, 3

func drawDays(seed uint64) mortalDays {
	r := rand.New(rand.NewPCG(seed, 36))
	d := mortalDays{mortal: mortal{Mode: []string{"sync", "async", "half_async", "ssp", "geo"}[r.IntN(5)], Servers: 1 + r.IntN(2), Workers: 1 + r.IntN(3),
		Batch: 5 + r.IntN(6)}, Journal: r.IntN(2) == 0}
	for range 1 + r.IntN(2) {
		role := fmt.Sprint("worker ", r.IntN(d.Workers))
		switch r.IntN(4) {
		case 0:
			role = fmt.Sprint("server ", r.IntN(d.Servers))
		case 1:
			role = "all"
		}
		d.Strikes = append(d.Strikes, dayStrike{role, r.IntN(min(2, d.Workers)), 1 + r.IntN(150), r.IntN(2) == 0,
			[]time.Duration{0, 0, 9 * time.Second, 20 * time.Minute}[r.IntN(4)]})
	}
	d.GoOn = (d.Mode == "sync" || d.Mode == "ssp") && r.IntN(2) == 0
	d.Grows = r.IntN(3) == 0
	return d
}

// job is that of a process.
func (d mortalDays) job(dir string, strike strikes) train.Job {
	j := dayJob(dir, d.Mode, train.Days{Last: fmt.Sprintf("04%02d", dayCount), By: "y", Shrink: fleet.ShrinkOptions{Unseen: 50},
		Publish: train.Publish{Dir: filepath.Join(dir, "serving"), Deltas: 3, Keep: 2}})
	j.Batch = d.Batch
	if d.Grows {
		j.Days.Every = 4 * time.Second
	}
	if d.Journal {
		j.Strategy.Recovery.Journal, j.Strategy.Recovery.JournalDir = strategy.JournalProcess, filepath.Join(dir, "journals")
	}
	if d.GoOn {
		j.Strategy.Recovery.WorkerLost = strategy.WorkerGoOn
	}
	j.Hooks = []train.Hooks{{
		Begin: func(_ context.Context, r *train.Run) error { return strike("begin", r, 0) },
		Step: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
			time.Sleep(300 * time.Millisecond)
			return nil
		},
		End: func(_ context.Context, r *train.Run) error { return strike("end", r, 0) },
	}}
	return j
}

// play plays the job in virtual time.
func (d mortalDays) play(dir string) *operator {
	calls, struck := map[string]int{}, map[int]bool{}
	return d.played(dir, func(o *operator) {
		o.days = d.job
		o.tap = func(name string, req [][]byte, send func() error) error {
			if strings.HasPrefix(trial.NameOf(req), "beat") {
				return send()
			}
			o.mu.Lock()
			calls[name]++
			n := calls[name]
			o.mu.Unlock()
			hit := func(behind bool) {
				o.mu.Lock()
				defer o.mu.Unlock()
				for i, s := range d.Strikes {
					if struck[i] || s.Behind != behind || s.At != n || name != fmt.Sprint("worker ", s.By) {
						continue
					}
					struck[i] = true
					o.note("%+v, at %s", s, trial.NameOf(req))
					for role, kill := range o.lives {
						if s.Role == role || s.Role == "all" {
							if strings.HasPrefix(s.Role, "worker") {
								o.away[role] = s.Away
							}
							go kill()
						}
					}
				}
			}
			hit(false)
			err := send()
			hit(true)
			return err
		}
	})
}

// clock is for how many periods the first sample was not trained, in what a job has left.
func clock(t *testing.T, dir string) int {
	t.Helper()
	f := leftOf(t, dir, dayJob(t.TempDir(), "", train.Days{}))
	defer f.Close()
	const far = 100
	for n := far + 1; ; n-- {
		is := false
		for row, err := range f.Rows(t.Context(), "ledger") {
			law.Check(t, err)
			is = is || row.ID == 0
		}
		if !is || n == 0 {
			return n
		}
		_, err := f.Shrink(t.Context(), fleet.ShrinkOptions{Unseen: far})
		law.Check(t, err)
	}
}

// leftOf is a process with what a job of days has left.
func leftOf(t *testing.T, dir string, j train.Job) *fleet.Fleet {
	t.Helper()
	f, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
	law.Check(t, err)
	opt, err := f.DistributedOptimizer(j.Rule, strategy.Sync())
	law.Check(t, err)
	law.Check(t, opt.Minimize(j.Loss))
	law.Check(t, f.Restore(t.Context(), filepath.Join(dir, "out", "checkpoint"), fleet.RestoreOptions{}))
	law.Check(t, f.InitWorker(t.Context()))
	return f
}

// TestDaysOutliveEveryEnd: roles of a job of days die at any call, one or all, twice, with checkpoints alone and with journals. Each row
// of each day counts once, as far as its mode promises, each day is judged before it is trained and ends once, and so does its period.
//
// Promise: [G6] in a job of days each row of each day is trained once, and each day's period ends once, whoever dies when, as its mode
// promises
func TestDaysOutliveEveryEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	met := 0
	defer func() { t.Logf("%d parts of days", met) }()
	trial.EachSeed(t, 16, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			d, dir := drawDays(seed.N), t.TempDir()
			var o *operator
			synctest.Test(t, func(t *testing.T) {
				wrote := make(chan struct{})
				go func() {
					defer close(wrote)
					for day := range dayCount {
						at, rows := filepath.Join(dir, "logs", fmt.Sprintf("04%02d", day+1)), []int{9, 8, 7, 6, 5, 5}
						if d.Grows {
							grow(t, at, day*dayRows, 3*time.Second, rows...)
						} else {
							writeDay(t, at, day*dayRows, rows...)
						}
					}
				}()
				if !d.Grows {
					<-wrote
				}
				o = d.play(dir)
				<-wrote
			})
			wrong := func(format string, args ...any) {
				t.Errorf("%+v: %s\n%s", d, fmt.Sprintf(format, args...), strings.Join(o.log, "\n"))
				for _, e := range o.got.History {
					t.Logf("%+v", e)
				}
			}
			if o.starts > o.most {
				wrong("the job does not end")
				return
			}
			lists, err := os.ReadDir(filepath.Join(dir, "checkpoints", "days"))
			if err != nil || len(lists) < dayCount || len(lists) > dayCount && !d.Grows {
				wrong("%d lists of days, error %v", len(lists), err)
			}
			met += len(lists) - dayCount
			got := dayLedger(t, dir)
			d.judge(got, len(lists), o, wrong)
			if n := clock(t, dir); n != dayCount && !d.GoOn { // without whom the first sample may be trained late
				wrong("%d periods have ended", n)
			}
			for _, what := range unpublished(filepath.Join(dir, "serving"), []string{"0401", "0402", "0403"}, 2) {
				wrong("%s", what)
			}
		})
	})
}

// judge says what is wrong with a ledger and a history.
func (d mortalDays) judge(got map[int]float64, epochs int, o *operator, wrong func(string, ...any)) {
	want, more, less, may, lacks := once(dayCount*dayRows), 0.0, 0.0, 0.0, 0.0
	for i := range want {
		more, less = more+max(0, got[i]-1), less+max(0, 1-got[i])
	}
	switch d.Mode {
	case "async", "half_async":
		may = float64(2 * d.Batch * len(d.Strikes) * d.Workers)
	case "geo":
		lacks = float64(len(d.Strikes) * d.Batch * 3 * d.Workers)
	}
	if o.short || d.GoOn {
		lacks = float64(dayCount * dayRows)
	}
	if more > may+0.01 || less > lacks+0.01 || may+lacks == 0 && !maps.Equal(got, want) {
		wrong("%v samples too often, may be %v; %v missing, may be %v: %s", more, may, less, lacks, apart(got, want))
	}
	ends, judged := map[int]int{}, map[int]int{}
	for _, e := range o.got.History {
		if _, is := e.Values["test loss"]; is {
			judged[e.Epoch]++
		}
		if e.End {
			ends[e.Epoch]++
		}
	}
	for day := range epochs {
		if ends[day+1] < 1 || judged[day+1] != 1 {
			wrong("day %d was judged %d times, and evaluated at its end %d times", day+1, judged[day+1], ends[day+1])
		}
	}
}

// mortal is a job of which single workers die, by a seed.
type mortal struct {
	Mode                       string
	GoOn                       bool // without workers that die, in modes in step
	Servers, Workers           int
	Rows, Batch, Every, Epochs int
	Patience, Lower            int
	Rest                       time.Duration // behind a step
	Deaths                     []death
}

// death is the end of a worker's process, which is started again after a while.
type death struct {
	Worker, Epoch, Step int
	Where               string // "step", "evaluated" or "epoch"
	Away                time.Duration
}

// countSamples is 0, and has the row of each example grow by 1 where it is trained by plain descent at rate 1.
type countSamples struct{}

func (countSamples) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (countSamples) Forward(c *nn.OpCall) { clear(c.Out.Value) }

func (countSamples) Backward(c *nn.OpCall) {
	for i := range c.In[0].Grad {
		c.In[0].Grad[i]--
	}
}

// operator starts the processes of a job of days: one that was killed again after a while, one that goes back at once, and all
// where one ends by itself with another error, as a launcher does.
type operator struct {
	mortal
	dir  string
	net  transport.Transport
	days func(dir string, strike strikes) train.Job               // the job of a process
	tap  func(name string, req [][]byte, send func() error) error // what befalls calls of a process; nil for nothing

	mu     sync.Mutex // guards what follows
	died   map[int]bool
	starts int
	most   int           // starts of all roles, of which the job must not need more
	again  chan struct{} // closed when all are to start again
	done   map[string]bool
	over   chan struct{} // closed when all workers have done their work
	got    lasting
	lives  map[string]func()
	runs   map[*fleet.Fleet]*train.Run
	away   map[string]time.Duration // until a role that was killed by tap is started again
	log    []string
	short  bool
}

type strikes = func(where string, r *train.Run, step int) error

// make is the job of a process.
func (o *operator) make(strike strikes) train.Job {
	return o.days(o.dir, strike)
}

// tapped is a process's transport, of whose calls the operator knows.
type tapped struct {
	*trial.Cable
	o    *operator
	name string
}

// Call implements [transport.Transport].
func (c *tapped) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	send := func() error { return c.Cable.Call(ctx, endpoint, req, read) }
	if c.o.tap == nil {
		return send()
	}
	return c.o.tap(c.name, req, send)
}

var errKilled = errors.New("killed")

func (o *operator) note(format string, args ...any) {
	o.log = append(o.log, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// Write keeps lines of the log.
func (o *operator) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note("%s", strings.TrimSpace(string(b)))
	return len(b), nil
}

// process is one life of a role.
func (o *operator) process(maker rolemaker.RoleMaker, name string) (away time.Duration, err error) {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	cable := &trial.Cable{Transport: o.net}
	f, err := fleet.New(ctx, maker, fleet.Options{Transport: &tapped{cable, o, name},
		Logger: slog.New(slog.NewTextHandler(o, &slog.HandlerOptions{Level: slog.LevelWarn})).With("at", name)})
	if err != nil {
		return 0, err
	}
	var ended sync.Once
	kill := func() { ended.Do(func() { cable.Kill(); end(errKilled); go o.die(f) }) }
	o.mu.Lock()
	o.lives[name] = kill
	o.mu.Unlock()
	strike := func(where string, r *train.Run, step int) error {
		if err := o.ends(where, r); err != nil || where == "end" {
			return err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.runs[f] = r; where == "begin" {
			return nil
		}
		for i, d := range o.Deaths {
			if !o.died[i] && d.Worker == f.WorkerIndex() && d.Where == where && r.Epoch == d.Epoch && (where != "step" || step == d.Step) {
				o.died[i], away = true, d.Away
				o.note("%s dies: %+v", name, d)
				kill()
				return errKilled
			}
		}
		return nil
	}
	job := o.make(strike)
	job.Anew(func() (train.Job, error) { // the life of another is not struck again
		return o.make(func(where string, r *train.Run, _ int) error { return o.ends(where, r) }), nil
	})
	res, err := job.Run(ctx, f)
	f.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note("%s ends: %v", name, err)
	over := errors.Is(err, train.ErrOver) // it was started again behind the end of the job
	if over {
		err = nil
	}
	if errors.Is(err, train.ErrShort) {
		o.short, err = true, nil
	}
	if err == nil && f.IsWorker() && !over {
		o.got.Stopped = res.Stopped
	}
	if context.Cause(ctx) != nil {
		err = errKilled
	}
	away = max(away, o.away[name])
	delete(o.away, name)
	return away, err
}

// die has a worker that was killed let go of directories.
func (o *operator) die(f *fleet.Fleet) {
	o.mu.Lock()
	r := o.runs[f]
	o.mu.Unlock()
	if r != nil {
		r.Die()
	}
}

// ends notes what the job leaves.
func (o *operator) ends(where string, r *train.Run) error {
	if where != "end" || !r.Leads() {
		return nil
	}
	factor, err := r.Fleet.RateFactor(context.Background())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got.Factor, o.got.History, o.got.Stopped = factor, r.History, ""
	return err
}

// role is all lives of a role.
func (o *operator) role(maker rolemaker.RoleMaker, name string) {
	back := 0
	for {
		o.mu.Lock()
		again := o.again
		o.mu.Unlock()
		away, err := o.process(maker, name)
		wait := (<-chan time.Time)(nil)
		switch {
		case err == nil:
			o.finish(name, again)
		case errors.Is(err, errKilled):
			wait = time.After(max(away, time.Second))
		case errors.Is(err, fleet.ErrWentBack) && back < 3:
			back++
			wait = time.After(time.Second)
		default:
			o.restart(again)
		}
		select {
		case <-o.over:
			return
		case <-again:
			back = 0
			time.Sleep(time.Second)
		case <-wait:
		}
	}
}

// finish notes that a role has done its work.
func (o *operator) finish(name string, start chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if start != o.again {
		return
	}
	o.done[name] = true
	for w := range o.Workers {
		if !o.done[fmt.Sprint("worker ", w)] && !o.isOver() {
			return
		}
	}
	select {
	case <-o.over:
	default:
		close(o.over)
	}
}

func (o *operator) isOver() bool { return o.short }

// restart starts all again.
func (o *operator) restart(start chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if start != o.again {
		return
	}
	if o.starts++; o.starts == o.most+1 {
		close(o.over)
	}
	for _, kill := range o.lives {
		go kill()
	}
	clear(o.done)
	close(o.again)
	o.again = make(chan struct{})
}

// played plays a job whose operator set has set.
func (d mortal) played(dir string, set func(*operator)) *operator {
	o := &operator{mortal: d, dir: dir, most: 10, net: transport.NewMemory(), died: map[int]bool{}, again: make(chan struct{}), over: make(chan struct{}),
		done: map[string]bool{}, lives: map[string]func(){}, runs: map[*fleet.Fleet]*train.Run{}, away: map[string]time.Duration{}}
	set(o)
	var servers []string
	for i := range d.Servers {
		servers = append(servers, fmt.Sprintf("server-%d:1", i))
	}
	var all sync.WaitGroup
	begin := func(role rolemaker.Role, i int, name string) {
		all.Go(func() {
			o.role(rolemaker.UserDefined{CurrentID: i, Role: role, WorkerNum: d.Workers, ServerEndpoints: servers}, name)
		})
	}
	for i := range d.Servers {
		begin(rolemaker.Server, i, fmt.Sprint("server ", i))
	}
	for i := range d.Workers {
		begin(rolemaker.Worker, i, fmt.Sprint("worker ", i))
	}
	all.Wait()
	return o
}
