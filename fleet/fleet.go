package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/cgroup"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/exposition"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// Fleet is this process's place in a training job. It is made by [Init] or [New]; its methods may be called
// from any goroutine, in the order that the package's doc shows.
type Fleet struct {
	id      rolemaker.Identity
	options Options
	log     *slog.Logger
	process uint64    // Config.Process of client and server
	told    sync.Once // the log, of a worker's stats
	early   int64     // refused calls until this worker had joined
	assumed bool      // Init was not called
	// startedAgain says that what runs this process starts it again however it ends.
	startedAgain bool
	readRows     int // Config.ReadRows of a server
	pulses       awake.Pulses
	probes       probes
	pages        []*exposition.Page // where it shows what it counts
	meter        workMeter          // of its training threads
	training     atomic.Pointer[func() stats.Training]

	mu  sync.Mutex
	job *job // since Minimize

	begins     origin
	hosted     hosting
	saving     saving
	merged     merging
	statistics statistics
}

// job is what every role knows after Minimize.
type job struct {
	id          rolemaker.Identity
	log         *slog.Logger
	layout      *layout.Layout
	rule        optimizer.Rule
	strategy    strategy.Strategy
	fingerprint layout.Fingerprint
	before      layout.Fingerprint  // of earlier builds
	transport   transport.Transport // nil where there is no peer
	backend     backend.Trainer     // nil on a server, which keeps weights itself
	server      server.Config       // of one
}

// Options are the objects that a fleet works with. The zero value is ready to use.
type Options struct {
	// Transport carries requests; nil means [transport.FastHTTP] with the security that the environment asks for
	// (FLEET_TLS_DIR, FLEET_TOKEN, FLEET_INSECURE).
	Transport transport.Transport
	// Placements are the program's own policies, which Strategy.Placement can name.
	Placements []placement.Policy
	// Logger is told what happens to the job; nil means [slog.Default], of JSON lines where FLEET_LOG is json.
	Logger *slog.Logger
	// Default makes it the fleet of the package's functions, as [Init] does.
	Default bool
}

// Errors of calls that came at the wrong time or in the wrong role; the message says which call is missing.
var (
	ErrOrder = errors.New("call out of order")
	ErrRole  = errors.New("not a call of this role")
)

// New makes a fleet for the role that rm gives this process; nil looks at the environment, as
// [rolemaker.FromEnvironment] does: gofleet's own variables, PaddlePaddle's, of operators on Kubernetes, of MPI
// and Slurm, then this process alone. A variable whose name is nearly that of one that gofleet reads is an error.
//
// Ranks of MPI, Slurm and other launchers find out where each is, which takes until the last has started: New waits for
// [strategy.DefaultStartTimeout], or as long as ctx says. Probes are answered meanwhile.
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
	board, err := openBoard(o.Logger)
	if err != nil {
		return nil, err
	}
	pages, err := openPages(o.Logger)
	if err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, strategy.DefaultStartTimeout.Std())
		defer cancel()
	}
	id, err := rolemaker.Resolve(ctx, rm)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if found, ok := rm.(interface{ Notes() []string }); ok {
		for _, note := range found.Notes() {
			o.Logger.Info("fleet: " + note)
		}
	}
	f := &Fleet{id: id, options: o, log: o.Logger, probes: probes{board: board}, pages: pages, startedAgain: again,
		readRows: rows}
	if o.Default {
		standard.Store(f)
	}
	return f, nil
}

// DistributedOptimizer wraps a rule for training under a strategy. Each role of a job must be given the same two.
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

// Optimizer is a rule with the fleet to apply it.
type Optimizer struct {
	fleet    *Fleet
	rule     optimizer.Rule
	strategy strategy.Strategy
}

// Minimize registers the objective's parameters, decides where each will live, and makes the fleet the objective's
// trainer. It must be called once, on every role, with the same model.
//
// Tables are large and change little, so that the collector would let as much garbage gather as there are tables. Where
// the process's control group has a bound, and neither GOMEMLIMIT nor the program has set one, Minimize has the
// collector keep to nine tenths of it.
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
	if err := optimizer.CheckParams(o.rule, params); err != nil {
		return fmt.Errorf("fleet: Minimize: %w", err)
	}
	if limit := cgroup.LimitCollector(); limit > 0 {
		f.log.Debug("the collector keeps to the control group's memory", "limit", limit)
	}
	j := &job{id: f.id, log: f.log, rule: o.rule, strategy: o.strategy}
	err := j.plan(params, f.options.Placements)
	if err == nil {
		err = f.equip(j, params)
	}
	if err != nil {
		return fmt.Errorf("fleet: Minimize: %w", err)
	}
	if f.job = j; f.id.Workers > 1 && j.layout.Frozen.Floats > 0 {
		f.statistics.apart = true
	}
	f.probes.show(f.String(), f.stands)
	for _, page := range f.pages {
		page.Show(f.String(), f.samples, func() any { return f.Stats() })
	}
	if s, ok := objective.(interface{ Savable() error }); ok && s.Savable() != nil {
		f.log.Warn("fleet: Minimize: SaveInferenceModel will refuse a model with this param", "error", s.Savable())
	}
	objective.Bind(trainer{f})
	return nil
}

// plan lays the parameters out over the servers; one that is alone keeps all of them.
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
	var whole []string // whose rule looks at all of them at once; rows of embeddings are whole anyway
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
	j.fingerprint, j.before = j.fingerprints()
	return nil
}

// Plan is where every block of every parameter lives; print it to see names, elements, bytes and servers. It is known
// after Minimize.
func (f *Fleet) Plan() (*placement.Plan, error) {
	j, err := f.minimized("Plan")
	if err != nil {
		return nil, err
	}
	return j.layout.Plan, nil
}
