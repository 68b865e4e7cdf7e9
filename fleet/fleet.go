package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/job"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// Fleet is this process's place in a training job. Make one with [Init] or [New]. Its methods may be called from any
// goroutine, in the order that the package documentation shows. Collectives are made one at a time, in the same order
// on every worker.
type Fleet struct {
	id      rolemaker.Identity
	options Options
	seen    *observe.Observer
	process uint64    // Config.Process of client and server
	told    sync.Once // logs a worker's stats once
	early   int64     // calls that failed before this worker had joined
	assumed bool      // Init was not called
	// startedAgain reports that this process is started again however it ends.
	startedAgain bool
	readRows     int // Config.ReadRows of a server
	began        time.Time
	meter        workMeter // times of its training threads

	mu  sync.Mutex
	job *job.Job // nil before Minimize

	begins origin
	hosted hosting
	meets  atomic.Pointer[string] // the collective under way
	leads  atomic.Bool            // this worker leads the job's epochs
}

// Options configure a fleet. The zero value is ready to use.
type Options struct {
	// Transport carries requests; nil means [transport.FastHTTP] with the security that the environment asks for
	// (FLEET_TLS_DIR, FLEET_TOKEN, FLEET_INSECURE).
	Transport transport.Transport
	// Placements are the program's own placement policies, which Strategy.Placement can name.
	Placements []placement.Policy
	// Logger receives the job's log; nil means [slog.Default], or as FLEET_LOG says.
	Logger *slog.Logger
	// Default makes the new fleet the default fleet of the package's functions, as [Init] does.
	Default bool
}

// ErrOrder and ErrRole report a call at the wrong time or in the wrong role. The message names the missing call.
var (
	ErrOrder = errors.New("call out of order")
	ErrRole  = errors.New("not a call of this role")
)

// New makes a fleet for the role that rm gives this process. A nil rm reads the environment as
// [rolemaker.FromEnvironment] does: variables of gofleet, of PaddlePaddle, of Kubernetes operators, of MPI and Slurm;
// without any, the process trains alone. A misspelt variable, whose name is close to one that gofleet reads, is an
// error.
//
// Ranks of MPI, Slurm and other launchers exchange their addresses first, which takes until the last has started. New
// waits for three minutes, or until ctx ends. Health probes are answered meanwhile.
func New(ctx context.Context, rm rolemaker.RoleMaker, o Options) (*Fleet, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("fleet: finding this process's role: %w", context.Cause(ctx))
	}
	if rm == nil {
		rm = rolemaker.FromEnvironment(nil)
	}
	again, err := startedAgain()
	if err != nil {
		return nil, err
	}
	rows, err := readRows()
	if err != nil {
		return nil, err
	}
	seen, err := observe.FromEnv(o.Logger)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, strategy.Strategy{}.WithDefaults().StartTimeout.Std())
		defer cancel()
	}
	id, err := rolemaker.Resolve(ctx, rm)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if found, ok := rm.(interface{ Notes() []string }); ok {
		for _, note := range found.Notes() {
			seen.Log.Info("fleet: " + note)
		}
	}
	f := &Fleet{id: id, options: o, seen: seen, startedAgain: again, readRows: rows, began: time.Now()}
	if o.Default {
		standard.Store(f)
	}
	return f, nil
}

// DistributedOptimizer wraps an update rule for training under a strategy. All roles of a job must pass the same rule
// and strategy.
func (f *Fleet) DistributedOptimizer(rule optimizer.Rule, s strategy.Strategy) (*Optimizer, error) {
	if err := f.checkInit(); err != nil {
		return nil, err
	}
	if err := optimizer.CheckRule(rule); err != nil {
		return nil, fmt.Errorf("fleet: DistributedOptimizer: %w", err)
	}
	s, err := job.Suit(f.id, s, rule)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &Optimizer{fleet: f, rule: rule, strategy: s.WithDefaults()}, nil
}

// Optimizer is an update rule together with the fleet that applies it.
type Optimizer struct {
	fleet    *Fleet
	rule     optimizer.Rule
	strategy strategy.Strategy
}

// Minimize registers the objective's parameters, decides where each will live, and makes the fleet the objective's
// trainer. Call it once, on every role, with the same model. A graph of package nn has one trainer: a second Minimize
// of it is an error.
//
// Minimize also sets Go's memory limit to nine tenths of the process's control group, if that has a bound and neither
// GOMEMLIMIT nor the program has set a limit; and, unless GOGC or the program has set another than 100, the percentage
// by which a heap may grow between two collections: tables are large and cost a collection nothing, so that it lets a
// sixteenth of them accumulate as garbage, not as much again.
func (o *Optimizer) Minimize(objective optimizer.Objective) error {
	if err := rules.CheckObjective(objective); err != nil {
		return fmt.Errorf("fleet: Minimize: %w", err)
	}
	f := o.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job != nil {
		return fmt.Errorf("fleet: Minimize was called already: a fleet trains one objective: %w", ErrOrder)
	}
	j, err := job.New(job.Config{ID: f.id, Params: objective.Params(), Rule: o.rule, Strategy: o.strategy,
		Placements: f.options.Placements, Transport: f.options.Transport, Log: f.seen.Log, Process: f.process,
		StartedAgain: f.startedAgain, ReadRows: f.readRows, Pulses: &f.seen.Pulses})
	if err != nil {
		return fmt.Errorf("fleet: Minimize: %w", err)
	}
	f.job = j
	f.seen.Show(f.String(), f.health, f.status)
	if s, ok := objective.(interface{ Savable() error }); ok && s.Savable() != nil {
		f.seen.Log.Warn("fleet: Minimize: SaveInferenceModel will refuse a model with this param", "error", s.Savable())
	}
	objective.Bind(trainer{f})
	return nil
}

// Plan returns where every block of every parameter lives; print it to see names, elements, bytes, servers, and how
// many bytes a row takes. It is available after Minimize.
func (f *Fleet) Plan() (*placement.Plan, error) {
	j, err := f.minimized("Plan")
	if err != nil {
		return nil, err
	}
	return j.Layout.Plan, nil
}
