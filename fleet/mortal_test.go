package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// mortal is a job drawn by seed: of any mode and size, whose roles are killed, cut off and started again by an operator, on a network with
// faults, while it saves checkpoints. The servers of most jobs keep journals.
type mortal struct {
	seed             trial.Seed
	strategy         strategy.Strategy
	servers, workers int
	steps            int
	faults           bool
	blows            map[string][]blow // by role

	ledger   trial.Ledger
	streets  trial.Streets
	network  transport.Transport
	operator operator
	zombies  sync.WaitGroup

	mu     sync.Mutex
	ends   map[string]time.Time // of processes: which and how, and when
	parted bool                 // a worker was killed as it took its leave: the servers that it had said so to may have ended, and all begin again for it
}

// blow is what befalls a role's process.
type blow struct {
	at time.Duration
	// "kill", "leave" (killed, and not started again by itself), "cut" (off from another role), "double" (cut off, and replaced), "lose"
	// (killed, and its journal is gone)
	kind  string
	pause time.Duration // until it is started again, or the way is open again
	haunt time.Duration // after the next start its last messages come again; 0 means never
	other string        // what it is cut off from
}

func (b blow) String() string {
	return fmt.Sprintf("%s at %v, pause %v, haunt %v, %s", b.kind, b.at, b.pause, b.haunt, b.other)
}

const mortalSteps, mortalPushes = 6, 600

// drawMortal draws a job.
func drawMortal(seed trial.Seed, dir string) *mortal {
	r := rand.New(rand.NewPCG(seed.N, 4))
	modes := strategy.Modes()
	m := &mortal{seed: seed, servers: 1 + r.IntN(3), workers: 1 + r.IntN(3), steps: mortalSteps, faults: r.IntN(2) == 0, blows: map[string][]blow{}}
	s, err := strategy.Named(string(modes[r.IntN(len(modes))]))
	if err != nil {
		panic(err)
	}
	if s.Mode == strategy.ModeGeo {
		s.KSteps = 1 + r.IntN(3)
	}
	if r.IntN(4) == 0 {
		s.MaxFrame = 4096
	}
	every := strategy.Duration(500+r.IntN(15000)) * strategy.Duration(time.Millisecond)
	s.Recovery = strategy.Recovery{Dir: filepath.Join(dir, "checkpoints"), Every: every, Keep: 1 + r.IntN(3), Deltas: int(seed.N % 3)}
	s.NoSlice = true
	if m.faults {
		s = trial.Patient(s)
	}
	m.strategy = s
	m.ledger.Full, m.ledger.Among, m.ledger.Parts = 6, 1, s.Mode == strategy.ModeGeo
	if s.Mode == strategy.ModeSync {
		m.ledger.Among = m.workers
	}
	m.drawBlows(r)
	m.drawJournals(rand.New(rand.NewPCG(seed.N, 5)), filepath.Join(dir, "journals"))
	return m
}

// drawJournals has two of three jobs keep journals, and kills servers of these once or more, of which some lose theirs.
func (m *mortal) drawJournals(r *rand.Rand, dir string) {
	if r.IntN(3) == 0 {
		return
	}
	m.strategy.Recovery.Journal, m.strategy.Recovery.JournalDir = strategy.JournalProcess, dir
	if r.IntN(4) == 0 {
		m.strategy.Recovery.Journal = strategy.JournalMachine
	}
	for range 1 + r.IntN(3) {
		b := blow{at: time.Duration(r.Int64N(int64(15 * time.Second))), kind: "kill", pause: pauses[r.IntN(len(pauses))]}
		if r.IntN(10) == 0 {
			b.kind = "lose"
		}
		if r.IntN(2) == 0 {
			b.haunt = time.Duration(1 + r.Int64N(int64(4*time.Second)))
		}
		m.falls(fmt.Sprint("server ", r.IntN(m.servers)), b)
	}
}

// falls has a blow fall on a role, in the order of time.
func (m *mortal) falls(role string, b blow) {
	m.blows[role] = append(m.blows[role], b)
	slices.SortStableFunc(m.blows[role], func(a, b blow) int { return cmp.Compare(a.at, b.at) })
}

// keeps says that the job may never go back: its servers come back with all that they had, no worker's death is a reason to, and none ends
// the job that the operator has replaced.
func (m *mortal) keeps() bool {
	for role, all := range m.blows {
		for _, b := range all {
			late := strings.HasPrefix(role, "worker") && b.pause > 5*time.Second // it counts as dead, and the others end without it
			if slices.Contains([]string{"lose", "leave", "double"}, b.kind) || late || strings.HasPrefix(role, "worker") && inStep(m.strategy.Mode) {
				return false
			}
		}
	}
	return m.strategy.Recovery.Journal != ""
}

// pauses are those before a process is started again.
var pauses = []time.Duration{10 * time.Millisecond, 700 * time.Millisecond, 5 * time.Second, 45 * time.Second}

// drawBlows draws up to four blows, some of them at the same moment.
func (m *mortal) drawBlows(r *rand.Rand) {
	at := time.Duration(r.Int64N(int64(15 * time.Second)))
	for range r.IntN(5) {
		if r.IntN(3) > 0 {
			at = time.Duration(r.Int64N(int64(15 * time.Second)))
		}
		b := blow{at: at, kind: "kill", pause: pauses[r.IntN(len(pauses))]}
		if r.IntN(2) == 0 {
			b.haunt = time.Duration(1 + r.Int64N(int64(4*time.Second)))
		}
		server, worker := fmt.Sprint("server ", r.IntN(m.servers)), fmt.Sprint("worker ", r.IntN(m.workers))
		role := worker
		switch kind := r.IntN(10); {
		case kind < 4:
			role = server
		case kind < 6:
		case kind < 7:
			b.kind = "leave"
		case kind < 8:
			b.kind = "double"
		case kind < 9:
			b.kind, b.other = "cut", server
		default:
			role, b.kind, b.other = server, "cut", fmt.Sprint("server ", r.IntN(m.servers))
		}
		m.falls(role, b)
	}
}

// operator starts whatever ends, until the job is over: when all workers have done their work, but for those that have gone. When everybody
// goes back, also those are started that had done it.
type operator struct {
	servers, workers int

	mu      sync.Mutex
	start   int             // of the job as a whole
	done    map[string]bool // workers: true for those that have done their work, false for those that have gone
	ended   map[string]bool // servers
	changed chan struct{}
}

// over says whether the job is over.
func (o *operator) over() bool {
	some := false
	for _, done := range o.done {
		some = some || done
	}
	return some && len(o.done) == o.workers
}

func (o *operator) broadcast() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// rest waits for the job's end, or until it is started again; then again is true.
func (o *operator) rest(ctx context.Context, role string, start int, done bool) (again bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if done { // what others were started again for did not concern it
		start = o.start
	}
	if o.start == start && strings.HasPrefix(role, "server") {
		o.ended[role] = true
	} else if o.start == start {
		o.done[role] = done
		if len(o.done) == o.workers && !o.over() {
			o.restart() // nobody is left
		}
		o.broadcast()
	}
	for o.start == start && !o.over() {
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		o.mu.Lock()
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
	return !o.over(), nil
}

func (o *operator) restart() {
	o.start++
	clear(o.done)
	clear(o.ended)
	o.broadcast()
}

// back starts the job again, once for each start of it.
func (o *operator) back(start int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.start == start && !o.over() {
		o.restart()
	}
}

// begins is called when a process is started, and says for which start of the job.
func (o *operator) begins() (start int, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.start, o.over()
}

// without says whether the servers have ended, so that whoever has not done its work has nobody left.
func (o *operator) without() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ended) == o.servers
}

// errHung says that a job did not come to its end.
var errHung = errors.New("hung")

// play is a role with all its processes.
func (m *mortal) play(ctx context.Context, f *fleet.Fleet) error {
	role := fmt.Sprintf("worker %d", f.WorkerIndex())
	if f.IsServer() {
		role = fmt.Sprintf("server %d", f.ServerIndex())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 12*time.Hour, fmt.Errorf("%s: %w", role, errHung))
	defer cancel()
	blows := make(chan blow)
	var sending sync.WaitGroup
	defer sending.Wait()
	ended, end := context.WithCancel(ctx)
	defer end()
	began := time.Now()
	sending.Go(func() { m.cut(ended, role, began) })
	sending.Go(func() { m.send(ended, role, began, blows) })
	var haunting func(context.Context)
	for number := uint64(1); ; number++ {
		start, over := m.operator.begins()
		if over {
			return nil
		}
		p, err := m.process(ctx, f, role, number)
		if err != nil {
			return err
		}
		if haunting != nil {
			haunt := haunting
			sending.Go(func() { haunt(ended) })
			haunting = nil
		}
		select {
		case b := <-blows:
			haunting = m.strike(ctx, &sending, p, b)
			if b.kind == "leave" {
				if again, err := m.operator.rest(ctx, role, start, false); !again {
					return err
				}
			}
			if pause(ctx, b.pause); b.kind == "lose" {
				<-p.ended
				if err := m.lose(role); err != nil {
					return err
				}
			}
			continue
		case err = <-p.ended:
		}
		switch again, waited := m.next(ctx, role, start, err); {
		case waited != nil:
			return fmt.Errorf("%w, process %d ended with %w", waited, number, err)
		case !again:
			return nil
		case number > 30:
			return fmt.Errorf("%s was started %d times: %w", role, number, err)
		}
		pause(ctx, time.Second<<min(number, 6))
	}
}

// lose removes a server's journal.
func (m *mortal) lose(role string) error {
	all, err := filepath.Glob(filepath.Join(m.strategy.Recovery.JournalDir, strings.ReplaceAll(role, " ", "-")+"-of-*.[0-9]*"))
	for _, path := range all {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// send has the blows fall that a role's processes get, one after the other.
func (m *mortal) send(ctx context.Context, role string, began time.Time, blows chan<- blow) {
	for _, b := range m.blows[role] {
		if b.kind == "cut" || !pause(ctx, time.Until(began.Add(b.at))) {
			continue
		}
		select {
		case blows <- b:
		case <-time.After(time.Second): // nobody is there
		case <-ctx.Done():
		}
	}
}

// cut cuts a role off, and joins it again.
func (m *mortal) cut(ctx context.Context, role string, began time.Time) {
	for _, b := range m.blows[role] {
		if b.kind == "cut" && pause(ctx, time.Until(began.Add(b.at))) {
			m.streets.Cut(role, b.other, true)
			pause(ctx, b.pause)
			m.streets.Cut(role, b.other, false)
		}
	}
}

// pause is false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// next says whether a role whose process has ended is started again.
func (m *mortal) next(ctx context.Context, role string, start int, err error) (again bool, waited error) {
	switch server := strings.HasPrefix(role, "server"); {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err == nil, server && errors.Is(err, fleet.ErrWorkersDied) && !errors.Is(err, fleet.ErrWentBack):
		return m.operator.rest(ctx, role, start, true)
	case errors.Is(err, errFound):
		return false, err
	case server, errors.Is(err, fleet.ErrWentBack):
		m.operator.back(start)
	case inStep(m.strategy.Mode), m.operator.without():
		return m.operator.rest(ctx, role, start, false)
	}
	return true, nil
}

// process is one process of a role.
type mortalProcess struct {
	name    string
	cable   *trial.Cable
	ghost   *trial.Ghost
	arrival *trial.Arrival
	end     context.CancelFunc
	ended   chan error
	own     *trial.Process
}

// process starts one.
func (m *mortal) process(ctx context.Context, f *fleet.Fleet, role string, number uint64) (*mortalProcess, error) {
	p := &mortalProcess{name: role, ended: make(chan error, 1)}
	if f.IsWorker() {
		p.name = fmt.Sprintf("%s, process %d", role, number)
	}
	p.arrival = &trial.Arrival{Transport: m.streets.From(p.name, m.network)}
	p.ghost = &trial.Ghost{Transport: p.arrival}
	p.cable = &trial.Cable{Transport: p.ghost}
	own, err := trial.Another(f, p.cable)
	if err != nil {
		return nil, err
	}
	own.Pin(number)
	ctx, p.end = context.WithCancel(ctx)
	m.zombies.Go(func() {
		defer p.end()
		err := m.live(ctx, own, p)
		m.ended(role, number, err)
		own.Close()
		p.ended <- err
	})
	return p, nil
}

// ended takes note of how a process has ended.
func (m *mortal) ended(role string, number uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends == nil {
		m.ends = map[string]time.Time{}
	}
	m.ends[fmt.Sprintf("%s, process %d: well %t", role, number, err == nil)] = time.Now()
}

// strike has a blow fall on a process. What it returns haunts the next one.
func (m *mortal) strike(ctx context.Context, sending *sync.WaitGroup, p *mortalProcess, b blow) (haunting func(context.Context)) {
	if b.kind == "double" { // it lives on, and comes back when another has its place
		ways := func(cut bool) {
			for s := range m.servers {
				m.streets.Cut(p.name, fmt.Sprint("server ", s), cut)
			}
		}
		ways(true)
		m.ledger.Cut(p.name)
		sending.Go(func() {
			if pause(ctx, b.pause+b.haunt) {
				ways(false)
				select {
				case <-p.ended:
				case <-ctx.Done():
				}
			}
			p.cable.Kill()
			p.end()
		})
		return nil
	}
	p.cable.Kill()
	p.end()
	if b.haunt == 0 {
		return nil
	}
	return func(ctx context.Context) {
		if pause(ctx, b.haunt) {
			p.ghost.Haunt(ctx)
		}
	}
}
