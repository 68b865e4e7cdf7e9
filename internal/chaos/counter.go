package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// counterName is the argument that makes this command a role of a counting job.
const counterName = "count"

const (
	workers  = 2
	epochs   = 3
	steps    = 50 // of a worker, in an epoch
	allSteps = workers * epochs * steps
	pace     = 12 * time.Millisecond
	copies   = 16 // of a life's row, so that each server has some copies
	elements = 96 // of the dense variable, in blocks on both servers
)

// counter is an objective whose gradients are whole numbers, under gradient descent of rate 1. A worker's push adds:
//
//	rows of its life            2
//	dense, i%3 == its number    2
//	dense, i%3 == 2             1
//
// In mode sync a round adds the mean of its members: with both, half of that.
type counter struct {
	dense, rows *optimizer.Param
	trainer     optimizer.Trainer
	diary       *diary
	f           *fleet.Fleet
	step        *optimizer.Step
	sent        int64
	recovers    bool // the job has checkpoints
}

func newCounter() *counter {
	return &counter{dense: &optimizer.Param{Name: "dense", Shape: []int{elements},
		W: make([]float32, elements), G: make([]float32, elements)},
		rows: &optimizer.Param{Name: "rows", Shape: []int{0, 1}, Embedding: true}}
}

func (c *counter) Params() []*optimizer.Param { return []*optimizer.Param{c.dense, c.rows} }
func (c *counter) Bind(t optimizer.Trainer)   { c.trainer = t }

// counts holds the weights at a job's end.
type counts struct {
	Dense []float32
	Rows  map[uint64]float32
}

// counterArgs holds a role's command line.
type counterArgs struct{ dir, mode, level string }

// counterMain is the program of a counting role. Like users' programs, it ends its context on a signal, and exits with
// 75 if all roles are to be started again.
func counterMain(args []string) (code int) {
	var a counterArgs
	fs := flag.NewFlagSet(counterName, flag.ContinueOnError)
	fs.StringVar(&a.dir, "dir", "", "of the run")
	fs.StringVar(&a.mode, "mode", "", "of training")
	fs.StringVar(&a.level, "level", "", "of what survives")
	if fs.Parse(args) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := count(ctx, a)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "count:", err)
	if errors.Is(err, fleet.ErrWentBack) {
		return fleet.ExitWentBack
	}
	return 1
}

// strategyOf returns the strategy of a run's jobs.
func strategyOf(mode, name, dir string) strategy.Strategy {
	s := strategy.Strategy{Mode: strategy.Mode(mode),
		HeartbeatInterval: strategy.Duration(heartbeat), WorkerTimeout: strategy.Duration(timeout),
		StartTimeout: strategy.Duration(15 * time.Second), WaitTimeout: strategy.Duration(20 * time.Second)}
	switch s.Mode {
	case strategy.ModeSSP:
		s.Staleness = 2
	case strategy.ModeGeo:
		s.KSteps = 5
	}
	for _, l := range levels {
		if l.name == name {
			s.Recovery = l.recovery(dir)
		}
	}
	return s
}

func count(ctx context.Context, a counterArgs) error {
	f, err := fleet.Init(nil)
	if err != nil {
		return err
	}
	defer f.Close()
	c := newCounter()
	c.f = f
	life := uint64(time.Now().UnixMicro())<<8 | uint64(max(f.WorkerIndex(), 0))<<4
	who := fmt.Sprint("worker ", f.WorkerIndex())
	if f.IsServer() {
		who, life = fmt.Sprint("server ", f.ServerIndex()), 0
	}
	if c.diary, err = openDiary(a.dir+"/diary", who, life); err != nil {
		return err
	}
	s := strategyOf(a.mode, a.level, a.dir)
	s.SmallBlocks, s.MinBlockSize = true, 8
	c.recovers = s.Recovery.Dir != ""
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(c); err != nil {
		return err
	}
	if f.IsServer() {
		err = c.serve(ctx)
	} else {
		err = c.work(ctx, a)
	}
	if errors.Is(err, fleet.ErrWentBack) {
		err = errors.Join(err, c.diary.write(back, c.sent, f.Stats().Counts.Steps))
	}
	return err
}

func (c *counter) serve(ctx context.Context) error {
	if err := c.f.InitServer(ctx, ""); err != nil {
		return err
	}
	if err := c.diary.write(begins, 0, 0); err != nil {
		return err
	}
	if err := c.f.RunServer(ctx); err != nil {
		return err
	}
	return c.diary.write(stops, 0, 0)
}

// work trains the remaining epochs and, when all workers have, writes the weights.
func (c *counter) work(ctx context.Context, a counterArgs) error {
	if err := c.f.InitWorker(ctx); err != nil {
		return err
	}
	if err := c.diary.write(begins, 0, 0); err != nil {
		return err
	}
	c.fill()
	for epoch := c.f.FirstEpoch(); epoch < epochs; epoch++ {
		if err := c.epoch(ctx, epoch); err != nil {
			return err
		}
	}
	leads, err := c.leads(ctx)
	if err == nil && leads {
		err = c.write(ctx, a.dir+"/counts.json")
	}
	if err == nil {
		err = c.f.StopWorker(ctx)
	}
	if err != nil {
		return err
	}
	return c.diary.write(stops, c.sent, c.f.Stats().Counts.Steps)
}

// fill makes the step that is trained again and again.
func (c *counter) fill() {
	for i := range c.dense.G {
		switch i % 3 {
		case c.f.WorkerIndex():
			c.dense.G[i] = -2
		case 2:
			c.dense.G[i] = -1
		}
	}
	r := optimizer.Rows{Param: c.rows, W: make([]float32, copies), G: make([]float32, copies)}
	for i := range uint64(copies) {
		r.IDs, r.G[i] = append(r.IDs, c.diary.life+i), -2
	}
	r.Next = r.IDs
	c.step = &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}
}

// epoch trains an epoch, except steps that are in the weights already, meets the other workers and has a checkpoint
// saved.
func (c *counter) epoch(ctx context.Context, epoch int) error {
	s, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	for range steps - min(steps, c.f.Position().In(epoch)) {
		if err := c.train(ctx, s); err != nil {
			return err
		}
	}
	if err := errors.Join(s.Close(ctx), c.trainer.EndEpoch(ctx)); err != nil {
		return err
	}
	if err := c.diary.write(trains, c.sent, c.f.Stats().Counts.Steps); err != nil {
		return err
	}
	if err := c.f.BarrierWorker(ctx); err != nil {
		return err
	}
	if err := c.f.SetProgress(fleet.Progress{Epoch: epoch + 1}); err != nil {
		return err
	}
	return c.save(ctx)
}

func (c *counter) train(ctx context.Context, s optimizer.Session) error {
	c.step.Eval = false
	if err := s.Begin(ctx, c.step); err != nil {
		return err
	}
	time.Sleep(pace)
	c.sent++
	if err := c.diary.write(trains, c.sent, c.f.Stats().Counts.Steps); err != nil {
		return err
	}
	if err := s.End(ctx, c.step); err != nil {
		return err
	}
	return c.diary.write(trains, c.sent, c.f.Stats().Counts.Steps)
}

// save saves a checkpoint if this worker is the lowest and the job has checkpoints.
func (c *counter) save(ctx context.Context) error {
	leads, err := c.leads(ctx)
	if err != nil || !leads || !c.recovers {
		return err
	}
	if err := c.diary.write(saves, c.sent, c.f.Stats().Counts.Steps); err != nil {
		return err
	}
	if err := c.f.Checkpoint(ctx); err != nil {
		return err
	}
	return c.diary.write(saved, c.sent, c.f.Stats().Counts.Steps)
}

// leads reports whether this worker is the lowest that lives. All workers call it.
func (c *counter) leads(ctx context.Context) (bool, error) {
	here, err := c.f.AllGatherBytes(ctx, nil)
	lowest := slices.IndexFunc(here, func(b []byte) bool { return b != nil }) // nil stands for a worker that is gone
	return lowest == c.f.WorkerIndex(), err
}

// write writes all weights.
func (c *counter) write(ctx context.Context, name string) error {
	s, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	st := &optimizer.Step{Eval: true, Rows: []optimizer.Rows{{Param: c.rows}}}
	if err := errors.Join(s.Begin(ctx, st), s.End(ctx, st), s.Close(ctx)); err != nil {
		return err
	}
	all := counts{Dense: c.dense.W, Rows: map[uint64]float32{}}
	for row, err := range c.f.Rows(ctx, c.rows.Name) {
		if err != nil {
			return err
		}
		all.Rows[row.ID] = row.W[0]
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
