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

// meeting merges the gradients of a worker's sessions in mode half_async, as [mode.Meeting] decides: when each session
// has delivered its gradient, they are merged into one push, and all go on with the dense weights in its answer. The
// thread that delivers last sends the push, on its own goroutine; the others wait.
type meeting struct {
	w *Worker
	x *exchange.Exchange
	// staging has the dense weights of the last push's answer, which every session copies at its next step.
	staging *staging
	merger  *gradient.Merger

	mu sync.Mutex // guards the fields below
	// rules decide which gradients are merged; members are the sessions by the number that rules gave.
	rules   mode.Meeting
	members map[int]*halfSession
	// pushed wakes all waits, which then check their conditions again.
	pushed  signal              // sent when a push has been answered
	err     error               // of a push; the meeting is over then
	pushing bool                // a push is under way
	warned  time.Time           // when the log last reported waiting threads
	at      []progress.Position // of the push under way
}

// halfSession is one training thread's part in the meeting.
type halfSession struct {
	m *meeting
	// number is the session's number in the meeting, in the order of first steps.
	number int
	params []*optimizer.Param
	intake intake
	x      *exchange.Exchange
	pull   []exchange.Rows
	// g is a copy of the step's gradient, with memory of its own.
	g  gradient.Step
	at progress.Position
	// waiting is cleared when the push with g was answered or has failed.
	waiting bool   // g is delivered, and not pushed yet
	settle  func() // of the step with g; nil if it has none
	// version is compared with the meeting's; if they differ, the weights are copied again.
	version int   // of the dense weights in params; -1 if they are an evaluation's
	met     int64 // the worker's meetings when it trained last; -1 before
}

// newMeeting has no session yet.
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

// Begin implements [optimizer.Session]. This thread requests the rows; dense weights are the meeting's.
func (s *halfSession) Begin(ctx context.Context, st *optimizer.Step) error {
	if err := checkStep(s.m.w, st); err != nil {
		return err
	}
	if s.x.NoDense = !st.Eval; st.Eval {
		s.version = -1 // it overwrites the params with newer weights than the meeting's
	} else if err := s.install(ctx); err != nil {
		return err
	}
	return describe(s.x.Run(ctx, exchange.Request{Op: opOf(st), Pull: own(s.pull, st)}), "pulling", s.m.w)
}

// install copies the newest dense weights into the params. If the others are pushing, it waits for them. A session's
// first step, and its first after a meeting of workers, fetches the servers' weights. The params are this thread's own
// arrays, so that each thread copies at its own pace.
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

// EndAlone is End for a thread that can't wait for the others, which may have no more steps: its gradient is sent with
// those that have been delivered. It still waits for the answer to that push.
func (s *halfSession) EndAlone(ctx context.Context, st *optimizer.Step) error {
	return s.deliver(ctx, st, s.m.rules.DeliverAlone)
}

// deliver delivers the gradient by note, which is a method of rules, sends the push if it is complete, and waits until
// the session's own push was answered.
func (s *halfSession) deliver(ctx context.Context, st *optimizer.Step, note func(session int) []int) error {
	push, err := s.intake.Take(st)
	if err != nil {
		return err
	}
	s.g.Set(push)
	s.at = s.m.w.trained(st)
	s.at.Frozen = "" // see merge
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	s.waiting, s.settle = true, st.Settle
	defer func() { s.settle = nil }() // a step that has ended is its thread's again, pushed or not
	m.push(ctx, note(s.number))
	return m.await(ctx, func() bool { return s.waiting })
}

// await waits for pushes while condition returns true. The caller holds mu, as condition needs. It ends with ctx, the
// worker, or the strategy's wait timeout, and its error has the number of threads that have delivered.
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

// speaks is how long a thread waits before the log reports it, and the pause between two lines.
const speaks = 20 * time.Second

// warn logs once, for all waiting threads, which threads they wait for. A thread that has no more batches and is not
// closed keeps all others waiting, and the log is the only sign of it.
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

// push sends the sessions' gradients as one, and then any that have become complete. The caller holds mu. An error ends
// the meeting, and is returned to all its sessions from then on.
func (m *meeting) push(ctx context.Context, sessions []int) {
	for len(sessions) > 0 {
		for _, number := range sessions {
			if s := m.members[number]; s.settle != nil {
				s.settle()
			}
		}
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

// merge merges the sessions' gradients, in the first one's memory, with the positions of all, of which the first has
// the averages that all have computed. The memory is in use until the push was answered, for which its session waits.
func (m *meeting) merge(sessions []int) (gradient.Step, []progress.Position) {
	all := &m.members[sessions[0]].g
	m.at = append(m.at[:0], m.members[sessions[0]].at)
	for _, number := range sessions[1:] {
		m.merger.Add(all, m.members[number].g)
		m.at = append(m.at, m.members[number].at)
	}
	m.at[0].Frozen = m.w.Progress.Kept()
	return *all, m.at
}

// send sends the merged gradient under one of the worker's sequence numbers. It returns when all servers have answered.
func (m *meeting) send(ctx context.Context, push gradient.Step, at []progress.Position) error {
	step, acked := m.w.Servers.Sequence.Begin()
	defer m.w.Servers.Sequence.End(step)
	r := exchange.Request{Op: wire.OpStep, Push: push, Positions: at, Seq: step, Acked: acked, All: true}
	return describe(m.x.Run(ctx, r), "pushing", m.w)
}

// Close implements [optimizer.Session]. The others no longer wait for this session.
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
