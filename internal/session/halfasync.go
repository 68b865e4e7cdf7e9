package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// meeting is where the sessions of a worker meet in mode half_async, as [mode.Meeting] decides: when each has delivered
// its gradient, they are merged into one push, and all go on with the dense weights that its answer brings. The thread
// that delivers last sends the push for all, on its own goroutine; the others wait.
type meeting struct {
	w *Worker
	x *exchange.Exchange
	// staging has the dense weights of the last push's answer, which every session copies at its next step.
	staging *staging
	merger  *gradient.Merger

	mu sync.Mutex // guards what follows
	// rules say who has delivered, and whose gradients go together; members are the sessions by the number that rules
	// gave.
	rules   mode.Meeting
	members map[int]*halfSession
	// All waits end with it or by themselves; they then look again.
	pushed  signal              // a push has been answered
	err     error               // of a push; the meeting is over then
	pushing bool                // a push is on its way
	warned  time.Time           // when the log said last that threads wait
	at      []progress.Position // of the push on its way
}

// halfSession is one training thread's part in the meeting.
type halfSession struct {
	m *meeting
	// number is the session's in the meeting, in the order of first steps.
	number int
	params []*optimizer.Param
	intake intake
	x      *exchange.Exchange
	pull   []exchange.Rows
	// g is a copy of the step's gradient, with room of its own.
	g  gradient.Step
	at progress.Position
	// waiting is cleared when the push with g was answered, also where that has failed.
	waiting bool // g is delivered, and not pushed yet
	// Of another version than the meeting's the weights are copied anew.
	version int   // of the dense weights in params; -1 of others
	met     int64 // the worker's meetings when it trained last; -1 before
}

// It has no session yet.
func newMeeting(w *Worker) *meeting {
	m := &meeting{
		w:       w,
		staging: newStaging(w, w.Layout.Params),
		merger:  gradient.NewMerger(w.Layout.Params, w.Rule, w.Strategy),
		members: map[int]*halfSession{},
	}
	m.x = m.staging.exchange(w.Servers)
	return m
}

// open makes a session, for whose gradients all others wait from then on.
func (m *meeting) open(params []*optimizer.Param) *halfSession {
	s := &halfSession{
		m:       m,
		params:  params,
		intake:  newIntake(m.w, params),
		x:       exchange.New(m.w.Servers),
		pull:    newPull(m.w),
		g:       gradient.NewStep(params),
		version: -1,
		met:     -1,
	}
	s.x.Dense = Weights(params)
	m.mu.Lock()
	defer m.mu.Unlock()
	s.number = m.rules.Open()
	m.members[s.number] = s
	return s
}

// Begin implements [optimizer.Session]. Rows are asked for by this thread; dense weights are the meeting's.
func (s *halfSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.m.w, st); err != nil {
		return err
	}
	if s.x.NoDense = !st.Eval; st.Eval {
		s.version = -1 // an evaluation sees the newest weights, and training goes on with all threads' weights
	} else if err := s.install(ctx); err != nil {
		return err
	}
	return describe(s.x.Run(ctx, exchange.Request{Op: opOf(st), Pull: own(s.pull, st)}), "pulling", s.m.w)
}

// install makes the newest dense weights the params'. A session that comes while the others push waits for them. Its
// first step, and its first behind a meeting of workers, brings what servers have. The params are this thread's own
// arrays, so that each copies at its own pace.
func (s *halfSession) install(ctx context.Context) error {
	m := s.m
	m.mu.Lock()
	err := m.await(ctx, func() bool { return m.pushing })
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if met := m.w.meetings.Load(); s.met != met {
		s.met = met
		if err := m.staging.exchange(m.w.Servers).Run(ctx, exchange.Request{Op: wire.OpStep}); err != nil {
			return describe(err, "pulling", m.w)
		}
		m.staging.arrived()
	}
	s.version = m.staging.install(s.params, s.version, nil)
	s.x.Forget()
	return nil
}

// End implements [optimizer.Session]. It returns when the push with this gradient was answered, which needs all other
// sessions' gradients.
func (s *halfSession) End(ctx context.Context, st *optimizer.Step) error {
	if st.Eval {
		return nil
	}
	return s.deliver(ctx, st, s.m.rules.Deliver)
}

// EndAlone is End for a thread that can't wait for the others, which may have no more steps: its gradient goes with the
// gradients that have been delivered. It still waits for the answer to that push.
func (s *halfSession) EndAlone(ctx context.Context, st *optimizer.Step) error {
	return s.deliver(ctx, st, s.m.rules.DeliverAlone)
}

// deliver hands the gradient over as note says, which is a method of rules, sends the push if it is complete, and waits
// until its own was answered.
func (s *halfSession) deliver(ctx context.Context, st *optimizer.Step, note func(session int) []int) error {
	push, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	s.g.Set(push)
	s.at = s.m.w.trained(st)
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	s.waiting = true
	m.push(ctx, note(s.number))
	return m.await(ctx, func() bool { return s.waiting })
}

// await waits for pushes until the condition is no longer true. mu is held on entry and exit, and when it is asked. It
// ends with ctx, the worker, or the strategy's wait timeout, and names how many threads have delivered.
func (m *meeting) await(ctx context.Context, condition func() bool) error {
	if !condition() {
		return m.err
	}
	limit, late := time.NewTimer(m.w.Strategy.WaitTimeout.Std()), time.NewTimer(speaks)
	defer limit.Stop()
	defer late.Stop()
	for condition() && m.err == nil {
		pushed := m.pushed.wait()
		m.mu.Unlock()
		var err error
		select {
		case <-pushed:
		case <-late.C:
			m.warn()
			late.Reset(speaks)
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-m.w.Context.Done():
			err = context.Cause(m.w.Context)
		case <-limit.C:
			err = fmt.Errorf("not after %v: %w", m.w.Strategy.WaitTimeout.Std(), context.DeadlineExceeded)
		}
		m.mu.Lock()
		if err != nil {
			doing := fmt.Sprintf("waiting for its training threads to end their steps (%d of %d have)",
				m.rules.Delivered(), m.rules.Sessions())
			return describe(err, doing, m.w)
		}
	}
	return m.err
}

// speaks is for how long a thread waits before the log says so, and the pause between two lines.
const speaks = 20 * time.Second

// warn says once for all threads that wait which threads they wait for. A thread that has no more batches and is not
// closed keeps all others waiting, and this is how a person learns of it.
func (m *meeting) warn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pushing || time.Since(m.warned) < speaks {
		return
	}
	m.warned = time.Now()
	var missing []int
	for number, s := range m.members {
		if !s.waiting {
			missing = append(missing, number)
		}
	}
	slices.Sort(missing)
	m.w.Log.Warn("a step in mode half_async waits for other training threads of this worker: it ends when each "+
		"executor that has trained ends one too, or is closed; let each train in a goroutine of its own; what is "+
		"missing is numbered by first steps", "worker", m.w.Worker, "waiting", m.rules.Delivered(),
		"of", m.rules.Sessions(), "missing", missing)
}

// push sends the sessions' gradients as one, and what may be ready when that is done. mu is held on entry and exit. An
// error is the meeting's, and all its sessions' from then on.
func (m *meeting) push(ctx context.Context, sessions []int) {
	for len(sessions) > 0 {
		all, at := m.merge(sessions)
		m.pushing = true
		m.mu.Unlock()
		err := m.send(ctx, all, at)
		m.mu.Lock()
		m.pushing = false
		if m.err == nil {
			m.err = err
		}
		for _, number := range sessions {
			if s := m.members[number]; s != nil {
				s.waiting = false
			}
		}
		m.staging.arrived()
		if err == nil {
			m.w.Servers.Tally.Steps.Add(int64(len(sessions)))
		}
		m.pushed.send()
		sessions = m.rules.Pushed()
	}
}

// merge makes one gradient of the sessions', in the first one's memory, with the positions of all. The memory is in use
// until the push was answered, since its session waits.
func (m *meeting) merge(sessions []int) (gradient.Step, []progress.Position) {
	all := &m.members[sessions[0]].g
	m.at = append(m.at[:0], m.members[sessions[0]].at)
	for _, number := range sessions[1:] {
		m.merger.Add(all, m.members[number].g)
		m.at = append(m.at, m.members[number].at)
	}
	return *all, m.at
}

// send sends the merged gradient under a number of the worker's own. It returns when all servers have answered.
func (m *meeting) send(ctx context.Context, push gradient.Step, at []progress.Position) error {
	step, acked := m.w.Servers.Sequence.Begin()
	defer m.w.Servers.Sequence.End(step)
	r := exchange.Request{Op: wire.OpStep, Push: push, Positions: at, Seq: step, Acked: acked, All: true}
	return describe(m.x.Run(ctx, r), "pushing", m.w)
}

// Close implements [optimizer.Session]. The others are no longer kept waiting.
func (s *halfSession) Close(ctx context.Context) error {
	m := s.m
	m.w.closed(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.members, s.number)
	m.push(ctx, m.rules.Close(s.number))
	return m.err
}

// drain has nothing to wait for: a push is answered before its threads go on.
func (s *halfSession) drain(context.Context) error { return nil }

// stop has no goroutine to end.
func (s *halfSession) stop() {}
