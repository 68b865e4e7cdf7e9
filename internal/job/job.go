package job

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/proc"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/internal/solo"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// Config is what a process brings to its job.
type Config struct {
	ID         rolemaker.Identity
	Params     []*optimizer.Param
	Rule       optimizer.Rule
	Strategy   strategy.Strategy // by Suit, with its defaults
	Placements []placement.Policy
	Transport  transport.Transport // nil for the environment's; of the job, with compression; nil without peers
	Log        *slog.Logger
	Process    uint64 // of client and server
	// StartedAgain reports that this process is started again however it ends; ReadRows is server.Config's.
	StartedAgain bool
	ReadRows     int
	Pulses       *awake.Pulses
}

// Job is what a process has of its job.
type Job struct {
	Config
	Layout      *layout.Layout
	Fingerprint layout.Fingerprint
	Backend     backend.Trainer // nil on a server, which keeps the weights itself
	Server      server.Config   // of a server

	statistics statistics
	merged     merging
	saving     saving
}

// New lays the params out and chooses who keeps the weights. It sets Go's memory limit by the control group's, and
// when the collector runs.
func New(c Config) (*Job, error) {
	if len(c.Params) == 0 {
		return nil, fmt.Errorf("the objective has no parameters")
	}
	if err := optimizer.CheckRule(c.Rule, c.Params...); err != nil {
		return nil, err
	}
	proc.TuneCollector()
	if limit := proc.LimitCollector(); limit > 0 {
		c.Log.Debug("the collector keeps to the control group's memory", "limit", limit)
	}
	j := &Job{Config: c}
	err := j.plan()
	if err == nil {
		err = j.equip()
	}
	if err == nil && j.Layout.Frozen.Floats > 0 {
		j.statistics.apart = j.ID.Workers > 1
		if j.Backend != nil && !j.ID.Local() {
			j.Backend.Reading().Keep(j.statistics.kept)
		}
	}
	return j, err
}

// Alone is the job of a process alone that has no objective: it meets itself.
func Alone() *Job { return &Job{Backend: new(solo.Trainer)} }

// plan lays the params out over the servers; a process alone keeps all of them.
func (j *Job) plan() error {
	where, err := j.Strategy.PlacementOptions(j.Placements...)
	if err != nil {
		return err
	}
	if mode.Of(j.Strategy.Mode).Copies {
		if err := checkGeo(j.Params, j.Rule); err != nil {
			return err
		}
	}
	if j.Strategy.PushSamples > 1 {
		if err := rules.CheckPlain(j.Params, j.Rule); err != nil {
			return fmt.Errorf("push_samples is %d, but %w; leave push_samples out", j.Strategy.PushSamples, err)
		}
	}
	if j.Strategy.Recovery.Journal != "" && rules.IsRandom(j.Rule) {
		return fmt.Errorf("rule %s draws lots, so that a server that plays its journal comes to other weights: leave "+
			"out recovery: journal", j.Rule.Name())
	}
	for _, p := range j.Params {
		if p.Evict.By != "" && p.MaxBytes == 0 && j.Strategy.MaxMemory == 0 {
			return fmt.Errorf("Evict of %q makes room within a bound: set its MaxBytes, or max_memory of the strategy",
				p.Name)
		}
	}
	var whole []string // params whose rule needs all weights at once; rows of embeddings are whole anyway
	for _, p := range j.Params {
		if r := rules.For(j.Rule, p); r != nil && !p.Embedding && rules.NeedsWhole(r) {
			whole = append(whole, p.Name)
		}
	}
	if err := checkpoint.CheckNames(j.Params); err != nil {
		return err
	}
	if j.Layout, err = layout.New(j.Params, max(1, len(j.ID.Servers)), where, whole...); err != nil {
		return err
	}
	j.Layout.SetRowBytes(func(p *optimizer.Param) (bytes int, most int64) {
		rule := rules.For(j.Rule, p)
		return table.RowBytes(p, rule), table.MostRows(p, rule)
	})
	j.Fingerprint = j.compared()
	return nil
}

// Join takes this worker's place, and begins at the positions from which the job goes on. From then on checkpoints of
// the series are saved. The end of ctx says that the program is about to end, also later.
func (j *Job) Join(ctx context.Context) error {
	if err := j.Backend.Join(ctx); err != nil {
		return err
	}
	if err := j.statistics.resume(j.Backend); err != nil {
		return err
	}
	reading := j.Backend.Reading()
	reading.Begin(j.Backend.Progress().Epoch)
	reading.Unlike(func(saved, now int) {
		j.Log.Warn("the current epoch begins anew: the checkpoint is of another number of training threads",
			"worker", j.ID.Index, "threads then", saved, "threads now", now)
	})
	j.saving.start(ctx, j)
	return nil
}

// Open opens a training thread's session, which merges steps if the strategy says so.
func (j *Job) Open(params []*optimizer.Param) (optimizer.Session, error) {
	if err := j.joined(); err != nil {
		return nil, err
	}
	s, err := j.Backend.Open(params)
	if err != nil {
		return nil, err
	}
	j.statistics.begun()
	if c := j.Strategy.GradientMerge; c.KSteps > 1 {
		return j.merged.add(newMerged(s, params, c)), nil
	}
	return s, nil
}

// Flush pushes the gradients that sessions have merged so far.
func (j *Job) Flush(ctx context.Context) error { return j.merged.flush(ctx) }

// SetDense sets the values of a frozen dense param in this process: values that training computes without gradients,
// such as the statistics of batch norm.
func (j *Job) SetDense(name string, w []float32) error {
	i := slices.IndexFunc(j.Params, func(p *optimizer.Param) bool { return p.Name == name })
	if i < 0 || j.Params[i].Embedding || !j.Params[i].Frozen {
		return fmt.Errorf("param %q is given values, which only a dense and frozen param takes", name)
	}
	err := j.Backend.SetDense(name, w)
	if err == nil && !j.ID.Local() {
		j.statistics.set(name, w)
	}
	return err
}

// Loaded notes that the weights were replaced, so that this worker's statistics count for all.
func (j *Job) Loaded() { j.statistics.loaded() }

// Begin reports an epoch of this worker's program, with the program's own data.
func (j *Job) Begin(epoch int, user []byte) error {
	if err := j.Backend.Begin(j.told(checkpoint.Progress{Epoch: epoch, User: user})); err != nil {
		return err
	}
	j.statistics.announced()
	j.saving.say(epoch, user)
	return nil
}

// told is what a program says of the job, as backends keep it.
func (j *Job) told(p checkpoint.Progress) checkpoint.Progress {
	p.Meetings = j.statistics.meetings()
	return p
}

// Barrier ends the epoch and returns when every worker has called it or has left; all then have the same statistics.
func (j *Job) Barrier(ctx context.Context) error {
	if !j.statistics.apart {
		return j.Backend.Barrier(ctx)
	}
	_, err := j.statistics.gather(ctx, j.Backend, "BarrierWorker", nil)
	return err
}

// Gather is the backend's Gather, at which workers also take the mean of their statistics.
func (j *Job) Gather(ctx context.Context, call string, data []byte) ([][]byte, error) {
	return j.statistics.gather(ctx, j.Backend, call, data)
}

// Ask is the backend's Ask. Workers that are told to measure take the mean of their statistics.
func (j *Job) Ask(ctx context.Context, at epoch.At) (*epoch.Told, error) {
	return j.statistics.ask(ctx, j.Backend, at)
}
