package twin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/transport"
)

// longest is the virtual time of a leg, beyond which it hangs.
const longest = 100 * time.Hour

// Play plays a program through the door, in directories below dir.
func (p Program) Play(t *testing.T, dir string) (saw Seen, err error) {
	run := &run{p: &p, dir: dir, place: dir, chains: map[string][]string{}, saw: Seen{
		windows: map[string][2]int{}, orders: map[int][]*event{}}}
	if p.Store {
		unmount, err := run.mount()
		if err != nil {
			return run.saw, err
		}
		defer unmount()
	}
	for i, l := range p.Legs {
		if run.order = nil; l.ordered() {
			run.order = newOrder(p.Seed + uint64(i))
		}
		run.log = new(trial.Log)
		synctest.Test(t, func(*testing.T) { err = run.leg(i, l) })
		if run.order != nil {
			run.saw.orders[i] = run.order.made()
		}
		if err == nil {
			err = run.begun(l)
		}
		if err != nil {
			return run.saw, fmt.Errorf("leg %d: %w\n%s", i, err, run.log.Last(12))
		}
	}
	return run.saw, nil
}

// run is a program on its way through the door.
type run struct {
	p   *Program
	dir string // of this machine
	// place is where checkpoints and models lie: dir, or a URL of the store
	place string

	mu     sync.Mutex // guards what follows
	saw    Seen
	chains map[string][]string // of bases and deltas, by the checkpoint that knows them

	newest string // base or delta, of worker 0

	log   *trial.Log // of the leg that is played
	order *order     // of the leg that is played, nil where none decides
}

// Seen is what was seen of a program, and in which order it happened where that decides.
type Seen struct {
	Sights
	windows map[string][2]int // events that there were before a sight, and behind it
	orders  map[int][]*event  // by leg
}

// begun says where servers of a leg say that they begin from something else than it does.
func (r *run) begun(l Leg) error {
	if l.Servers == 0 || l.returns() || l.From.Dir == "" || l.From.How == "worker" {
		return nil
	}
	what := "everything"
	if l.From.WeightsOnly {
		what = "weights"
	}
	if len(l.From.Only) > 0 {
		what += fmt.Sprintf(" of params %q", l.From.Only)
	}
	want := fmt.Sprintf("%s (%s)", r.at(l.From.Dir), what)
	said := r.log.Lines(`msg="begins from `)
	other := func(line string) bool { return !strings.Contains(line, fmt.Sprintf("msg=%q", "begins from "+want)) }
	if len(said) < l.Servers || slices.ContainsFunc(said, other) {
		return fmt.Errorf("servers say %q, want \"begins from %s\"", said, want)
	}
	return nil
}

// watch notes how many events there were before a sight and behind it.
func (r *run) watch(before int, format string, args ...any) {
	if r.order == nil {
		return
	}
	now := r.order.count()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saw.windows[fmt.Sprintf(format, args...)] = [2]int{before, now}
}

// arrived is how many events there were.
func (r *run) arrived() int {
	if r.order == nil {
		return 0
	}
	return r.order.count()
}

// see notes what a role sees.
func (r *run) see(values []float64, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saw.see(values, format, args...)
}

// add adds numbers to what was seen.
func (r *run) add(values []float64, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, v := range r.saw.of[fmt.Sprintf(format, args...)] {
		values[i] += v
	}
	r.saw.see(values, format, args...)
}

// leg plays all roles of a leg.
func (r *run) leg(i int, l Leg) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), longest, errors.New("the job hangs"))
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	network := transport.NewMemory()
	var all sync.WaitGroup
	back := newReturning(l, network)
	roles := l.Roles()
	for _, name := range slices.Sorted(maps.Keys(roles)) { // servers first
		maker := roles[name]
		m, _ := maker.(rolemaker.UserDefined)
		if l.returns() && m.Role == rolemaker.Server {
			all.Go(func() {
				if err := r.server(ctx, i, l, m, back); err != nil {
					fail(fmt.Errorf("server %d: %w", m.CurrentID, err))
				}
			})
			continue
		}
		way := r.way(maker, back)
		f, err := fleet.New(context.Background(), maker, fleet.Options{Transport: way, Logger: r.log.Logger()})
		if err != nil {
			return err
		}
		all.Go(func() {
			defer f.Close()
			if err := (&role{run: r, l: l, leg: i, f: f}).play(ctx); err != nil {
				fail(fmt.Errorf("%v: %w", f, err)) // the first cause stays
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// way is a role's way to the network.
func (r *run) way(maker rolemaker.RoleMaker, network transport.Transport) transport.Transport {
	role, ok := maker.(rolemaker.UserDefined)
	if r.order == nil || !ok || role.Role != rolemaker.Worker {
		return network
	}
	return tapped{network, role.CurrentID, r.order}
}

// Roles are the processes of a leg by name.
func (l Leg) Roles() map[string]rolemaker.RoleMaker {
	if l.alone() {
		return map[string]rolemaker.RoleMaker{"worker 0": rolemaker.Local{}}
	}
	all := map[string]rolemaker.RoleMaker{}
	var servers, workers []string
	for i := range l.Servers {
		servers = append(servers, fmt.Sprintf("server-%d:1", i))
	}
	for i := range l.Workers {
		workers = append(workers, fmt.Sprintf("worker-%d:1", i))
	}
	for i := range servers {
		all[fmt.Sprintf("server %d", i)] = rolemaker.UserDefined{CurrentID: i, Role: rolemaker.Server,
			WorkerNum: l.Workers, ServerEndpoints: servers}
	}
	for i := range workers {
		var worker rolemaker.RoleMaker = rolemaker.UserDefined{CurrentID: i, Role: rolemaker.Worker,
			WorkerNum: l.Workers, ServerEndpoints: servers}
		if l.Servers == 0 {
			worker = rolemaker.UserDefinedCollective{CurrentID: i, WorkerEndpoints: workers}
		}
		all[fmt.Sprintf("worker %d", i)] = worker
	}
	return all
}

// role is a process of a leg.
type role struct {
	*run
	l   Leg
	leg int
	f   *fleet.Fleet
	g   graph

	worker   int
	exe      map[string]*executor
	chain    []string // directories of a base and the deltas behind it, of worker 0
	services services // what scores it
}

// play is the life of a role.
func (r *role) play(ctx context.Context) error {
	r.g = r.p.graph()
	if own := &r.l.Strategy.Recovery; own.Journal != "" {
		own.Dir, own.JournalDir = r.recovery(r.leg), r.journals(r.leg)
	}
	opt, err := r.f.DistributedOptimizer(r.l.Rules.door(), r.l.Strategy)
	if err != nil {
		return err
	}
	if err := opt.Minimize(r.g.loss); err != nil {
		return err
	}
	if r.l.Servers > 0 { // it is known before anybody has joined
		if _, err := r.f.Explain(nil); err != nil {
			return err
		}
	}
	from := r.l.From
	if from.Dir != "" && from.How == "restore" {
		o := fleet.RestoreOptions{Params: from.Only, WeightsOnly: from.WeightsOnly}
		if err := r.f.Restore(ctx, r.at(from.Dir), o); err != nil {
			return err
		}
	}
	if r.f.IsServer() {
		return r.serve(ctx, from)
	}
	if from.How == "server" && r.l.Servers == 0 {
		if err := r.f.LoadModel(ctx, r.at(from.Dir), from.Only...); err != nil {
			return err
		}
	}
	if err := r.f.InitWorker(ctx); err != nil {
		return err
	}
	if from.How == "worker" {
		if err := r.load(ctx, from.Dir, from.Only); err != nil {
			return err
		}
	}
	return r.work(ctx)
}

func (r *role) serve(ctx context.Context, from From) error {
	dir, only := "", []string(nil)
	if from.How == "init server" {
		dir, only = r.at(from.Dir), from.Only
	}
	if err := r.f.InitServer(ctx, dir, only...); err != nil {
		return err
	}
	if from.How == "server" { // in the place of what it has
		if err := r.f.InitServer(ctx, r.at(from.Dir), from.Only...); err != nil {
			return err
		}
	}
	err := r.f.RunServer(ctx)
	if !r.l.copies() && err == nil { // nor was it killed
		r.held()
	}
	return err
}

// held notes what the tables of this process count at a leg's end: of servers all together.
func (r *role) held() {
	for _, t := range r.f.Stats().Tables {
		counts := []float64{float64(t.Rows), float64(t.Waiting), float64(t.Dropped), float64(t.Born),
			float64(t.KeptOut)}
		if r.l.returns() { // the others count from the process's beginning
			counts = counts[:2]
		}
		if r.l.Servers > 0 {
			r.add(counts, "%s servers hold of %s", r.l.End, t.Name)
		} else {
			r.see(counts, "%s worker %d holds of %s", r.l.End, r.worker, t.Name)
		}
	}
}
