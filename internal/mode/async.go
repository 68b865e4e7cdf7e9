package mode

import (
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// Async is asynchronous training on a server: every push is an update at once, whatever the other workers do.
type Async struct{ one [1]int }

// Push implements [Server].
func (a *Async) Push(worker int, _ Round) ([]int, error) {
	a.one[0] = worker
	return a.one[:], nil
}

// Park implements [Server].
func (a *Async) Park(int, Round) ([]int, error) { return nil, nil }

// Leave implements [Server].
func (a *Async) Leave(int, bool) []int { return nil }

// Applied implements [Server].
func (a *Async) Applied([]int) {}

// Reached implements [Server].
func (a *Async) Reached(Round) bool { return true }

// Open implements [Server].
func (a *Async) Open() Round { return 0 }

// Missing implements [Server].
func (a *Async) Missing() []int { return nil }

// Played implements [Server].
func (a *Async) Played([]int, Round) {}

// State implements [Server].
func (a *Async) State() State { return State{} }

// Resume implements [Server].
func (a *Async) Resume(State) {}

// SendQueue is asynchronous training on a worker: what a training thread does with the gradient of a step that has
// ended, and what travels when. Gradients lie in the caller's memory, in places that the queue numbers; one that cannot
// travel yet waits, later ones are merged into it if the options say so, and when no place is left the thread waits
// too. So it is never further ahead of the servers than [SendQueue.Places] pushes of [SendOptions] MaxMergeVarNum
// steps.
//
// A place goes round:
//
//	       Step: TurnCopy           Filled              Next              Answered
//	free ─────────────────> filling ──────> waiting ──────────> travelling ────────> free
//	                           ▲               │
//	                           └───────────────┘
//	                            Step: TurnMerge, into the newest, while it has
//	                            fewer than MaxMergeVarNum steps
//
// Without a free place, and with none to merge into, Step says TurnWait: the loop waits for an answer. What waits goes
// in the order in which it came, when fewer than ThreadPoolSize requests travel and it is ripe: it is full, or not
// Patient, or its ticket was Waited, or somebody drains the queue. It is held back for a moment if the thread's next
// pull follows at once, and travels with that.
//
// The queue as a whole runs, until Close (what waits still goes; then Over) or until a request fails (nothing goes any
// more).
//
// By default a pull travels with the gradients before it, or behind them, so that a step sees all updates of its own
// worker. With options that let gradients wait or travel beside training, pulls go apart from them, and wait for none.
//
// For each step the thread calls Step, writes to the place it got, and calls Filled; Want asks for a pull. After
// whatever it tells the queue, the caller sends what Next returns, until that is nothing, and tells by Answered how it
// went.
//
// Once a request has failed nothing more is sent, and Step and Want say so: Unsent steps may or may not have been
// applied.
type SendQueue struct {
	o         SendOptions
	places    []place
	free      []int       // places without a gradient
	queue     []int       // places whose gradients wait to be sent, the oldest first
	filling   int         // places that the thread writes to
	held      bool        // a pull will follow at once, and what waits should travel with it
	wanted    [3]bool     // by Pull
	busy      int         // requests on their way, other than the receiver's and pulls that go apart
	bringing  int         // of these, the requests that bring dense weights
	pulling   bool        // a pull that goes apart is on its way
	receiving bool        // the receiver's is on its way
	sent      int         // steps pushed since dense weights were last asked for
	drains    int         // how many wait until nothing is left
	ticket    uint64      // the last that was given
	end       queueStatus // what has ended it
}

// SendOptions are what a strategy says of a send queue, by the strategy's names. Sizes of 0 mean 1.
type SendOptions struct {
	// MaxMergeVarNum is how many steps a push may be made of.
	MaxMergeVarNum int
	// SendQueueSize is how many gradients, merged or not, may wait besides the gradients under way.
	SendQueueSize int
	// ThreadPoolSize is how many requests may be on their way at a time.
	ThreadPoolSize int
	// Patient makes a gradient wait for others to be merged with it, until Waited says that it was long enough.
	Patient bool
	// IndependentRecvThread brings dense weights by requests of their own.
	IndependentRecvThread bool
	// MinSendGradNumBeforeRecv is after how many steps dense weights are brought again.
	MinSendGradNumBeforeRecv int
	// LookAhead asks for what the next step needs when a step begins, so that a step waits for no push before it.
	LookAhead bool
}

// SendOptionsOf are a strategy's.
func SendOptionsOf(st strategy.Strategy) SendOptions {
	return SendOptions{MaxMergeVarNum: st.MaxMergeVarNum, SendQueueSize: st.SendQueueSize,
		ThreadPoolSize: st.ThreadPoolSize,
		Patient:        st.SendWaitTimes > 0, IndependentRecvThread: st.IndependentRecvThread,
		MinSendGradNumBeforeRecv: st.MinSendGradNumBeforeRecv, LookAhead: st.LookAhead}
}

// Apart says that pulls and gradients travel by separate requests.
func (o SendOptions) Apart() bool {
	return o.MaxMergeVarNum > 1 || o.SendQueueSize > 1 || o.ThreadPoolSize > 1
}

// Turn is what a training thread does when a step has ended.
type Turn uint8

const (
	TurnCopy  Turn = iota // copies its gradient into the place
	TurnMerge             // merges it into what the place has
	TurnWait              // waits until a request is answered, then asks again
	TurnOver              // nothing: a request has failed, or the queue is closed
)

// Pull is what a request brings besides dense weights.
type Pull uint8

const (
	PullNone Pull = iota
	PullRows      // rows of a step; a gradient may travel with it
	PullPeek      // rows and dense weights of an evaluation
)

// Send is a request that should go now.
type Send struct {
	Place int // of the gradient it takes; -1 without
	Steps int // that the gradient is made of
	Pull  Pull
	Dense bool // it brings the dense weights
}

type place struct {
	steps  int    // merged in it
	ticket uint64 // it waits for others to be merged with it; 0 means that it may go
}

type queueStatus uint8

const (
	queueRunning queueStatus = iota
	queueClosed              // sends what it has
	queueFailed
)

// NewSendQueue is an empty queue.
func NewSendQueue(o SendOptions) *SendQueue {
	for _, size := range []*int{&o.MaxMergeVarNum, &o.SendQueueSize, &o.ThreadPoolSize, &o.MinSendGradNumBeforeRecv} {
		*size = max(*size, 1)
	}
	n := o.SendQueueSize + o.ThreadPoolSize
	q := &SendQueue{o: o, places: make([]place, n), queue: make([]int, 0, n)}
	for at := range n {
		q.free = append(q.free, n-1-at)
	}
	return q
}

// Places is how many gradients there may be, waiting and on their way.
func (q *SendQueue) Places() int { return len(q.places) }

// Requests is how many there may be on their way at a time, other than the receiver's.
func (q *SendQueue) Requests() int {
	if q.o.Apart() {
		return q.o.ThreadPoolSize + 1
	}
	return q.o.ThreadPoolSize
}

// Step takes note that a step has ended, and says what the thread does with its gradient. What it copies or merges
// stays where it is until Filled.
func (q *SendQueue) Step() (at int, turn Turn) {
	if q.end != queueRunning {
		return -1, TurnOver
	}
	if last := len(q.queue) - 1; last >= 0 && q.places[q.queue[last]].steps < q.o.MaxMergeVarNum {
		at, q.queue = q.queue[last], q.queue[:last]
		q.filling++
		return at, TurnMerge
	}
	last := len(q.free) - 1
	if last < 0 {
		q.held = false
		return -1, TurnWait
	}
	at, q.free = q.free[last], q.free[:last]
	q.filling++
	return at, TurnCopy
}

// Filled takes note that the gradient of the last Step is in its place. When the thread's next pull will follow at
// once, it waits to travel with that, unless pulls go apart. A ticket other than 0 is for Waited.
func (q *SendQueue) Filled(at int, pullFollows bool) (ticket uint64) {
	q.filling--
	p := &q.places[at]
	p.steps++
	switch {
	case p.steps == q.o.MaxMergeVarNum:
		p.ticket = 0
	case p.steps == 1 && q.o.Patient:
		q.ticket++
		p.ticket, ticket = q.ticket, q.ticket
	}
	q.queue = append(q.queue, at)
	q.held = pullFollows && !q.o.Apart() && q.drains == 0 && q.end == queueRunning
	return ticket
}

// Waited takes note that the gradient of a ticket has waited long enough for others.
func (q *SendQueue) Waited(ticket uint64) {
	for at := range q.places {
		if q.places[at].ticket == ticket {
			q.places[at].ticket = 0
		}
	}
}

// Want takes note of a pull, in place of one of its kind that has not gone yet. It is false when nothing more is sent.
func (q *SendQueue) Want(p Pull) bool {
	if q.end != queueRunning {
		return false
	}
	q.wanted[p], q.held = true, false
	return true
}

// Next is a request that should go now, if there is one. An evaluation goes first, for its thread waits; the gradients
// before it go when they would have gone.
func (q *SendQueue) Next() (s Send, ok bool) {
	s.Place = -1
	switch pull := q.pull(); {
	case q.end == queueFailed:
		return s, false
	case q.o.Apart() && pull != PullNone && !q.pulling:
		q.pulling, s.Pull = true, pull
	case q.busy == q.o.ThreadPoolSize:
		return s, false
	case !q.o.Apart() && pull != PullNone:
		q.busy++
		if s.Pull = pull; pull == PullRows {
			q.take(&s)
		}
	case q.due():
		q.busy++
		q.take(&s)
	default:
		return s, false
	}
	q.wanted[s.Pull] = false
	if s.Dense = q.bringsDense(s); s.Dense && !q.goesApart(s) {
		q.bringing++
	}
	return s, true
}

// pull is the pull that should go first.
func (q *SendQueue) pull() Pull {
	switch {
	case q.wanted[PullPeek]:
		return PullPeek
	case q.wanted[PullRows]:
		return PullRows
	}
	return PullNone
}

// due says whether the oldest gradient should go.
func (q *SendQueue) due() bool { return len(q.queue) > 0 && !q.held && q.ripe(q.queue[0]) }

// take gives a request the oldest gradient, if there is one.
func (q *SendQueue) take(s *Send) {
	if len(q.queue) == 0 {
		return
	}
	s.Place = q.queue[0]
	s.Steps = q.places[s.Place].steps
	q.queue = slices.Delete(q.queue, 0, 1)
}

// goesApart says whether a request is a pull that travels apart from gradients.
func (q *SendQueue) goesApart(s Send) bool { return q.o.Apart() && s.Pull != PullNone }

// Late says that a step should wait until something is answered, before it begins with no rows to pull: dense weights
// are on their way that have this worker's last update.
func (q *SendQueue) Late() bool {
	return q.end == queueRunning && q.bringing > 0 && !q.o.Apart() && !q.o.LookAhead
}

// ripe says whether a gradient need not wait for others: it is full, has waited, or somebody waits for it. One with
// another behind it is full.
func (q *SendQueue) ripe(at int) bool {
	return q.places[at].ticket == 0 || q.drains > 0 || q.end != queueRunning
}

// bringsDense says whether a request that goes brings dense weights too: with the push that makes the steps enough. An
// evaluation always does.
func (q *SendQueue) bringsDense(s Send) bool {
	if s.Pull == PullPeek {
		return true
	}
	if q.o.IndependentRecvThread {
		return false // Receive does
	}
	q.sent += s.Steps
	if q.sent < q.o.MinSendGradNumBeforeRecv {
		return false
	}
	q.sent = 0
	return true
}

// Receive says that dense weights should be asked for now, by a request of their own.
func (q *SendQueue) Receive() bool {
	if !q.o.IndependentRecvThread || q.receiving || q.end != queueRunning || q.sent < q.o.MinSendGradNumBeforeRecv {
		return false
	}
	q.sent, q.receiving = 0, true
	return true
}

// Answered takes note that a request of Next was answered, or failed.
func (q *SendQueue) Answered(s Send, ok bool) {
	switch {
	case q.goesApart(s):
		q.pulling = false
	case s.Dense:
		q.bringing--
		fallthrough
	default:
		q.busy--
	}
	if !ok {
		q.end = queueFailed
		return
	}
	if s.Place >= 0 {
		q.pushed(s.Steps)
		q.places[s.Place] = place{}
		q.free = append(q.free, s.Place)
	}
}

// pushed counts steps for Receive, which follows their answers.
func (q *SendQueue) pushed(steps int) {
	if q.o.IndependentRecvThread {
		q.sent += steps
	}
}

// Received takes note that a request of Receive was answered, or failed.
func (q *SendQueue) Received(ok bool) {
	q.receiving = false
	if !ok {
		q.end = queueFailed
	}
}

// Drain makes everything go that waits, until Drained, and then Resume.
func (q *SendQueue) Drain() {
	q.drains++
	q.held = false
}

// Resume ends a Drain.
func (q *SendQueue) Resume() { q.drains-- }

// Drained says that no gradient waits and nothing is on its way.
func (q *SendQueue) Drained() bool {
	return q.filling == 0 && len(q.queue) == 0 && q.quiet()
}

func (q *SendQueue) quiet() bool { return q.busy == 0 && !q.pulling && !q.receiving }

// Close makes everything go that waits; then the queue is over.
func (q *SendQueue) Close() {
	q.held = false
	if q.end == queueRunning {
		q.end = queueClosed
	}
}

// Over says that nothing will go any more and nothing is on its way, after Close or a failure.
func (q *SendQueue) Over() bool {
	return q.end == queueClosed && q.Drained() || q.end == queueFailed && q.quiet()
}

// Unsent is how many steps have ended of which it is not known that servers have applied them.
func (q *SendQueue) Unsent() (steps int) {
	for _, p := range q.places {
		steps += p.steps
	}
	return steps
}
