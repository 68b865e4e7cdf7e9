package twin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// A mortal leg is a job with a directory for checkpoints whose processes are killed, or stand still, while it trains.
// An operator starts a process that was killed again, by itself, after a while. When a process ends by itself with an
// error, all are ended and started again, also those that have done their work, as a launcher does.

// Strike is what befalls a role.
type Strike struct {
	Role  string        // "server 0", "worker 1"
	After time.Duration // behind the leg's beginning
	// Kind is "kill", "end": it is asked to end, as by SIGTERM, or "pause": nothing comes from it or to it.
	Kind string
	For  time.Duration // until it is started again, or goes on
}

// starts is how often all of a job may be started again.
const starts = 40

// errKilled is why a process that was killed ends, errAsked why one does that was asked to.
var (
	errKilled = errors.New("killed")
	errAsked  = errors.New("asked to end")
)

// operator runs the roles of a mortal leg.
type operator struct {
	r       *run
	leg     int
	l       Leg
	network transport.Transport
	gates   map[string]*gate
	bodies  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	start   int
	again   chan struct{} // closed when all are to start again
	done    map[string]bool
	over    chan struct{} // closed when all workers have done their work
	failure error
	lives   map[string]*life
	ends    []string
	deaths  int // of workers, by themselves too
}

// life is a process of a role.
type life struct {
	cable *trial.Cable
	dead  chan struct{} // closed when it is killed
	once  sync.Once
	keep  func() journal // of a server that has one
	kept  journal        // as it is when it is killed
	end   context.CancelFunc
	// spared says that the process is not to be ended by its context, upon which one without servers would save
	// first.
	spared atomic.Bool
	asked  atomic.Bool   // to end
	killed atomic.Bool   // dead is closed soon
	mute   bool          // nobody hears what it answers when it is killed
	away   time.Duration // until it is started again, of a server that returns
}

// newLife is a process of a leg on its way to a network, and the context by which it ends.
func (r *run) newLife(ctx context.Context, m rolemaker.RoleMaker, leg int, network transport.Transport) (
	context.Context, *life) {
	p := &life{dead: make(chan struct{}), cable: &trial.Cable{Transport: network}}
	if u, _ := m.(rolemaker.UserDefined); u.Role == rolemaker.Server && r.p.Legs[leg].Strategy.Recovery.Journal != "" {
		p.keep = func() journal { return r.journal(leg, u.CurrentID) }
	}
	ctx, p.end = context.WithCancel(ctx)
	return ctx, p
}

// kill ends a process as kill -9 does.
func (p *life) kill() {
	p.once.Do(func() {
		p.killed.Store(true)
		p.cable.Pulled.Store(true) // what it asks of others reaches them no more
		if !p.mute {
			p.cable.Kill()
		}
		if p.keep != nil {
			p.kept = p.keep()
		}
		p.cable.Kill()
		close(p.dead)
		if !p.spared.Load() {
			p.end()
		}
	})
}

// mortal plays a leg of which processes die.
func (r *run) mortal(ctx context.Context, i int, l Leg) error {
	network := transport.NewMemory()
	network.ReadToken = readToken
	o := &operator{r: r, leg: i, l: l, network: network, gates: map[string]*gate{},
		lives: map[string]*life{},
		done:  map[string]bool{}, again: make(chan struct{}), over: make(chan struct{})}
	makers := l.roles()
	for _, m := range makers {
		o.gates[l.roleOf(m)] = newGate()
	}
	var all sync.WaitGroup
	for _, m := range makers {
		all.Go(func() { o.role(ctx, m) })
	}
	for _, s := range l.Strikes {
		all.Go(func() { o.strike(ctx, s) })
	}
	stop := func() error { return nil }
	if l.read(r.p.Net) {
		way := func(t transport.Transport) transport.Transport { return gated{t, "reader", o.gates} }
		stop = r.reads(ctx, l, i, readable{network, way})
	}
	all.Wait()
	o.failure = errors.Join(o.failure, stop())
	o.bodies.Wait()
	r.saw.deaths = o.deaths
	if len(l.Strikes) == 0 && o.start > 0 && o.failure == nil {
		o.failure = fmt.Errorf("nothing is struck, and all were started %d times more", o.start)
	}
	if o.failure == nil && ctx.Err() != nil {
		o.failure = context.Cause(ctx)
	}
	if o.failure != nil {
		return fmt.Errorf("%w; processes ended: %v", o.failure, o.ends)
	}
	return r.remains(ctx, i, l)
}

// roleOf names a role.
func (l Leg) roleOf(m rolemaker.RoleMaker) string {
	switch m := m.(type) {
	case rolemaker.UserDefined:
		if m.Role == rolemaker.Server {
			return fmt.Sprintf("server %d", m.CurrentID)
		}
		return fmt.Sprintf("worker %d", m.CurrentID)
	case rolemaker.UserDefinedCollective:
		return fmt.Sprintf("worker %d", m.CurrentID)
	}
	return "worker 0"
}

// strike waits for its time, and strikes who lives then.
func (o *operator) strike(ctx context.Context, s Strike) {
	select {
	case <-time.After(s.After):
	case <-o.over:
		return
	case <-ctx.Done():
		return
	}
	if s.Kind == "pause" {
		if g := o.gates[s.Role]; g != nil {
			g.close(s.For)
		}
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch p := o.lives[s.Role]; {
	case p == nil:
	case s.Kind == "end":
		p.asked.Store(true)
		p.end()
	default:
		p.kill()
	}
}

// delay is how long a role stays away that was killed or asked to end.
func (o *operator) delay(role string, number int) time.Duration {
	for _, s := range o.l.Strikes {
		if s.Role == role && s.Kind != "pause" {
			if number--; number < 0 {
				return s.For
			}
		}
	}
	return time.Second
}

// role is all that a role does until the job is over.
func (o *operator) role(ctx context.Context, m rolemaker.RoleMaker) {
	name, killed := o.l.roleOf(m), 0
	for {
		o.mu.Lock()
		start, again := o.start, o.again
		o.mu.Unlock()
		err := o.process(ctx, m, name)
		o.record(name, err)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errKilled) || errors.Is(err, errAsked):
			if o.wait(ctx, again, o.delay(name, killed)); o.isOver() {
				return
			}
			killed++
		case err == nil:
			if o.finished(name, start); !o.wait(ctx, again, 0) {
				return
			}
		default:
			if o.isOver() {
				return
			}
			if o.failed(start, fmt.Errorf("%s: %w", name, err)); !o.wait(ctx, again, time.Second) {
				return
			}
		}
	}
}

func (o *operator) record(name string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends = append(o.ends, fmt.Sprintf("%v %s: %v", time.Now().Format("04:05.000"), name, err))
	if err != nil && strings.HasPrefix(name, "worker") {
		o.deaths++
	}
}

func (o *operator) isOver() bool {
	select {
	case <-o.over:
		return true
	default:
		return false
	}
}

// wait waits until all are to start again, so long where that is given, or until the job is over; then it is false.
func (o *operator) wait(ctx context.Context, again chan struct{}, d time.Duration) bool {
	var timer <-chan time.Time
	if d > 0 {
		timer = time.After(d)
	}
	select {
	case <-again:
		time.Sleep(time.Second)
	case <-timer:
	case <-o.over:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// finished notes that a role has done its work.
func (o *operator) finished(name string, start int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.start != start {
		return
	}
	o.done[name] = true
	for w := range o.l.Workers {
		if !o.done[fmt.Sprintf("worker %d", w)] {
			return
		}
	}
	if !o.isOver() {
		close(o.over)
	}
}

// failed starts all again.
func (o *operator) failed(start int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.start != start {
		return
	}
	if o.start++; o.start > starts {
		o.failure = fmt.Errorf("the job was started %d times: %w", starts, err)
		close(o.over)
	}
	for _, p := range o.lives {
		p.kill()
	}
	clear(o.done)
	close(o.again)
	o.again = make(chan struct{})
}

// process is one life of a role.
func (o *operator) process(ctx context.Context, m rolemaker.RoleMaker, name string) error {
	ctx, p := o.r.newLife(ctx, m, o.leg, gated{o.network, name, o.gates})
	o.mu.Lock()
	o.lives[name] = p
	o.mu.Unlock()
	as := &role{run: o.r, l: o.l, leg: o.leg, joined: func() { p.spared.Store(o.l.Servers == 0) }}
	err := p.play(ctx, as, m, &o.bodies)
	if p.asked.Load() && !errors.Is(err, errKilled) && (err != nil || strings.HasPrefix(name, "server")) {
		return fmt.Errorf("%w: %v", errAsked, err)
	}
	return err
}

// play plays a role until it ends or is killed.
func (p *life) play(ctx context.Context, as *role, m rolemaker.RoleMaker, bodies *sync.WaitGroup) error {
	f, err := fleet.New(ctx, m, fleet.Options{Transport: p.cable, Logger: as.logger()})
	if err != nil && p.killed.Load() { // before it has begun
		<-p.dead
		return errKilled
	}
	if err != nil {
		return err
	}
	as.f, as.dead = f, p.dead
	ended := make(chan error, 1)
	bodies.Go(func() { // one that was killed may take its time
		defer p.end()
		err := as.play(ctx)
		f.Close()
		ended <- err
	})
	select {
	case <-p.dead:
	case err := <-ended:
		if !p.killed.Load() {
			return err
		}
		ended <- err
		<-p.dead
	}
	if p.keep == nil {
		return errKilled
	}
	if <-ended == nil { // it has the journal, which kill -9 would let go, and may void it
		return nil // its work was done, and nothing is left to come back to
	}
	if err := p.kept.put(); err != nil {
		return err
	}
	return errKilled
}

// journal are the files of a server's journal as they are at a moment.
type journal struct {
	pattern string
	files   map[string][]byte
	err     error
}

// journal reads them while the process goes on, so again until it has begun or removed none of them meanwhile.
func (r *run) journal(leg, server int) journal {
	j := journal{pattern: filepath.Join(r.journals(leg), fmt.Sprintf("server-%d-*", server))}
	names, err := filepath.Glob(j.pattern)
	for before := []string(nil); err == nil && !slices.Equal(before, names); {
		before, j.files, j.err = names, map[string][]byte{}, nil
		for _, name := range names {
			data, err := os.ReadFile(name)
			j.files[name], j.err = data, errors.Join(j.err, err)
		}
		names, err = filepath.Glob(j.pattern)
	}
	j.err = errors.Join(j.err, err)
	return j
}

// put makes the journal what it was.
func (j journal) put() error {
	now, err := filepath.Glob(j.pattern)
	err = errors.Join(j.err, err)
	for _, name := range now {
		err = errors.Join(err, os.Remove(name))
	}
	for name, data := range j.files {
		err = errors.Join(err, os.WriteFile(name, data, 0o600))
	}
	return err
}

// remains notes what the job has left: the newest of its checkpoints, as a process alone reads it.
func (r *run) remains(ctx context.Context, i int, l Leg) error {
	last, err := checkpoints.Latest(r.recovery(i))
	if err == nil {
		err = errors.Join(r.kept(i, l), whole(ctx, last.Dir))
	}
	if err != nil {
		return err
	}
	f, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{Logger: r.logger()})
	if err != nil {
		return err
	}
	defer f.Close()
	l.Servers, l.Workers, l.Strikes = 0, 1, nil
	l.From = From{Dir: last.Dir, How: "restore"}
	l.Strategy = strategy.Strategy{}
	reader := &role{run: r, l: l, leg: i, f: f}
	return reader.read(ctx)
}

// kept says whether checkpoints are left that were to go.
func (r *run) kept(i int, l Leg) error {
	const most = 2 // Recovery.Keep
	all, err := r.files(r.recovery(i), "*/manifest.json")
	if l.Strategy.Recovery.Deltas == 0 && len(all) > most {
		err = errors.Join(err, fmt.Errorf("%d checkpoints are left of the last %d: %v", len(all), most, all))
	}
	return err
}
