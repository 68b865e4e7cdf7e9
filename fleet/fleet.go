package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/proc"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/internal/table"
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
	log     *slog.Logger
	process uint64    // Config.Process of client and server
	told    sync.Once // logs a worker's stats once
	early   int64     // calls that failed before this worker had joined
	assumed bool      // Init was not called
	// startedAgain reports that this process is started again however it ends.
	startedAgain bool
	readRows     int // Config.ReadRows of a server
	pulses       awake.Pulses
	probes       probes
	page         *observe.Page // of counters and status, nil if there is none
	began        time.Time
	warnings     *observe.Warnings
	meter        workMeter // times of its training threads

	mu  sync.Mutex
	job *job // nil before Minimize

	begins     origin
	hosted     hosting
	saving     saving
	merged     merging
	meets      atomic.Pointer[string] // the collective under way
	leads      atomic.Bool            // this worker leads the job's epochs
	statistics statistics
}

// job is what every role has after Minimize.
type job struct {
	id          rolemaker.Identity
	log         *slog.Logger
	layout      *layout.Layout
	rule        optimizer.Rule
	strategy    strategy.Strategy
	fingerprint layout.Fingerprint
	transport   transport.Transport // nil if there is no peer
	backend     backend.Trainer     // nil on a server, which keeps the weights itself
	server      server.Config       // of a server
	statistics  *statistics         // the fleet's
	merged      *merging            // the fleet's
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
	if o.Logger == nil {
		log, err := logger()
		if err != nil {
			return nil, err
		}
		o.Logger = log
	}
	if err := checkVariables(o.Logger); err != nil {
		return nil, err
	}
	again, err := startedAgain()
	if err != nil {
		return nil, err
	}
	rows, err := readRows()
	if err != nil {
		return nil, err
	}
	board, err := opened("FLEET_HEALTH", func(addr string) (*observe.Board, error) {
		return observe.OpenBoard(addr, o.Logger)
	})
	if err != nil {
		return nil, err
	}
	page, err := opened("FLEET_METRICS", func(addr string) (*observe.Page, error) {
		return observe.Open(addr, os.Getenv("FLEET_UI_TOKEN"), o.Logger)
	})
	if err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, strategy.Strategy{}.WithDefaults().StartTimeout.Std())
		defer cancel()
	}
	warnings := new(observe.Warnings)
	id, err := rolemaker.Resolve(ctx, rm)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if found, ok := rm.(interface{ Notes() []string }); ok {
		for _, note := range found.Notes() {
			o.Logger.Info("fleet: " + note)
		}
	}
	f := &Fleet{id: id, options: o, log: keep(o.Logger, warnings), probes: probes{board: board}, page: page,
		startedAgain: again, readRows: rows, began: time.Now(), warnings: warnings}
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
	s, err := suit(f.id, s, rule)
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
// GOMEMLIMIT nor the program has set a limit: tables are large and change little, so the collector would otherwise let
// as much garbage accumulate as there are tables.
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
	params := objective.Params()
	if len(params) == 0 {
		return errors.New("fleet: Minimize: the objective has no parameters")
	}
	if err := optimizer.CheckRule(o.rule, params...); err != nil {
		return fmt.Errorf("fleet: Minimize: %w", err)
	}
	if limit := proc.LimitCollector(); limit > 0 {
		f.log.Debug("the collector keeps to the control group's memory", "limit", limit)
	}
	j := &job{id: f.id, log: f.log, rule: o.rule, strategy: o.strategy, statistics: &f.statistics, merged: &f.merged}
	err := j.plan(params, f.options.Placements)
	if err == nil {
		err = f.equip(j, params)
	}
	if err != nil {
		return fmt.Errorf("fleet: Minimize: %w", err)
	}
	f.job = j
	if j.layout.Frozen.Floats > 0 {
		f.statistics.apart = f.id.Workers > 1
		if j.backend != nil && !f.id.Local() {
			j.backend.Reading().Keep(f.statistics.kept)
		}
	}
	f.probes.show(f.String(), f.stands)
	if f.page != nil {
		f.page.Show(f.String(), f.status)
	}
	if s, ok := objective.(interface{ Savable() error }); ok && s.Savable() != nil {
		f.log.Warn("fleet: Minimize: SaveInferenceModel will refuse a model with this param", "error", s.Savable())
	}
	objective.Bind(trainer{f})
	return nil
}

// plan lays the parameters out over the servers; a process alone keeps all of them.
func (j *job) plan(params []*optimizer.Param, policies []placement.Policy) error {
	where, err := j.strategy.PlacementOptions(policies...)
	if err != nil {
		return err
	}
	if mode.Of(j.strategy.Mode).Copies {
		if err := checkGeo(params, j.rule); err != nil {
			return err
		}
	}
	if j.strategy.Recovery.Journal != "" && rules.IsRandom(j.rule) {
		return fmt.Errorf("fleet: rule %s draws lots, so that a server that plays its journal comes to other "+
			"weights: leave out recovery: journal", j.rule.Name())
	}
	for _, p := range params {
		if p.Evict.By != "" && p.MaxBytes == 0 && j.strategy.MaxMemory == 0 {
			return fmt.Errorf("fleet: Evict of %q makes room within a bound: set its MaxBytes, or max_memory of the "+
				"strategy", p.Name)
		}
	}
	var whole []string // params whose rule needs all weights at once; rows of embeddings are whole anyway
	for _, p := range params {
		if r := rules.For(j.rule, p); r != nil && !p.Embedding && rules.NeedsWhole(r) {
			whole = append(whole, p.Name)
		}
	}
	if err := checkpoint.CheckNames(params); err != nil {
		return err
	}
	if j.layout, err = layout.New(params, max(1, len(j.id.Servers)), where, whole...); err != nil {
		return err
	}
	j.layout.SetRowBytes(func(p *optimizer.Param) (bytes int, most int64) {
		rule := rules.For(j.rule, p)
		return table.RowBytes(p, rule), table.MostRows(p, rule)
	})
	j.fingerprint = j.compared()
	return nil
}

// Plan returns where every block of every parameter lives; print it to see names, elements, bytes, servers, and how
// many bytes a row takes. It is available after Minimize.
func (f *Fleet) Plan() (*placement.Plan, error) {
	j, err := f.minimized("Plan")
	if err != nil {
		return nil, err
	}
	return j.layout.Plan, nil
}
