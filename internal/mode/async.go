package mode

import (
	"slices"

	"github.com/gofleet/gofleet/strategy"
)

// Async is the server's half of asynchronous training: every push is an update at once, whatever the other workers do.
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

// SendQueue is the worker's half of asynchronous training. It decides what a training thread does with the gradient of
// a finished step, and which requests are sent when. Gradients are in the caller's memory, in places that the queue
// numbers. A gradient that can't be sent yet waits; later ones are merged into it if the options permit. If no place is
// left the thread waits too. So the thread is never further ahead of the servers than [SendQueue.Places] full pushes.
//
// The states of a place:
//
//	       Step: TurnCopy           Filled              Next              Answered
//	free ─────────────────> filling ──────> waiting ──────────> travelling ────────> free
//	                           ▲               │
//	                           └───────────────┘
//	                            Step: TurnMerge, into the newest, until it is
//	                            full: MaxMergeVarNum steps, or PushSamples
//
// Without a free place, or one to merge into, Step returns TurnWait: the training loop waits for an answer. Waiting
// gradients are sent in the order in which they came, while fewer than ThreadPoolSize requests are under way. The
// oldest is sent when it is full, or not Patient, or its ticket was Waited, or a Drain is under way. It is held back
// for a moment if the thread's next pull follows at once, and goes in the same request.
//
// The queue runs until Close (then waiting gradients are still sent, and it is Over) or until a request fails (then
// nothing more is sent).
//
// By default a pull goes in the same request as the gradients before it, or after them, so that a step sees all updates
// of its own worker. With PushSamples a gradient that is not full stays, and the thread adds it to what it pulls. With
// other options that let gradients wait, or be sent beside training, pulls have requests of their own, and wait for no
// gradient.
//
// For each step the thread calls Step, writes to the place it got, and calls Filled; Want asks for a pull. After each
// such call the caller sends the requests that Next returns, until there is none, and reports their ends by Answered.
//
// Once a request has failed, Step and Want say so: Unsent steps may or may not have been applied.
type SendQueue struct {
	o         SendOptions
	places    []place
	free      []int       // places without a gradient
	queue     []int       // places whose gradients wait to be sent, the oldest first
	filling   int         // places that the thread writes to
	held      bool        // a pull will follow at once; waiting gradients go with it
	wanted    [3]bool     // by Pull
	busy      int         // requests under way, without the receiver's and pulls that go apart
	bringing  int         // of these, the requests that pull dense weights
	pulling   bool        // a pull that goes apart is under way
	receiving bool        // the receiver's request is under way
	sent      int         // steps pushed since dense weights were last requested
	drains    int         // how many Drains are under way
	ticket    uint64      // the last one given
	end       queueStatus // whether and how the queue has ended
}

// SendOptions holds the strategy's options of a send queue, under the strategy's names. A size of 0 means 1.
type SendOptions struct {
	// MaxMergeVarNum is how many steps a push may consist of.
	MaxMergeVarNum int
	// PushSamples is how many samples a push waits for, of at most mostPushSteps steps. Above 1, MaxMergeVarNum,
	// SendQueueSize and ThreadPoolSize are 1.
	PushSamples int
	// SendQueueSize is how many gradients, merged or not, may wait besides the gradients under way.
	SendQueueSize int
	// ThreadPoolSize is how many requests may be under way at a time.
	ThreadPoolSize int
	// Patient makes a gradient wait for others to merge with, until Waited ends its wait.
	Patient bool
	// IndependentRecvThread pulls dense weights by separate requests.
	IndependentRecvThread bool
	// MinSendGradNumBeforeRecv is after how many steps dense weights are pulled again.
	MinSendGradNumBeforeRecv int
	// LookAhead pulls what the next step needs when a step begins, so that a step waits for no push before it.
	LookAhead bool
}

// SendOptionsOf returns a strategy's options.
func SendOptionsOf(st strategy.Strategy) SendOptions {
	return SendOptions{MaxMergeVarNum: st.MaxMergeVarNum, SendQueueSize: st.SendQueueSize,
		ThreadPoolSize: st.ThreadPoolSize,
		Patient:        st.SendWaitTimes > 0, IndependentRecvThread: st.IndependentRecvThread,
		MinSendGradNumBeforeRecv: st.MinSendGradNumBeforeRecv, LookAhead: st.LookAhead}
}

// Apart reports whether pulls and gradients go in separate requests.
func (o SendOptions) Apart() bool {
	return o.MaxMergeVarNum > 1 || o.SendQueueSize > 1 || o.ThreadPoolSize > 1
}

// Turn is what a training thread does with its gradient when a step has ended.
type Turn uint8

const (
	TurnCopy  Turn = iota // copies its gradient into the place
	TurnMerge             // merges it into the place's gradient
	TurnWait              // waits until a request is answered, then asks again
	TurnOver              // nothing: a request has failed, or the queue is closed
)

// Pull is what a request pulls besides dense weights.
type Pull uint8

const (
	PullNone Pull = iota
	PullRows      // rows of a step; the request may also carry a gradient
	PullPeek      // rows and dense weights of an evaluation
)

// Send is a request to send now.
type Send struct {
	Place int // of the gradient that it carries; -1 for none
	Steps int // of the gradient
	Pull  Pull
	Dense bool // it pulls dense weights
}

type place struct {
	steps, samples int    // merged into it
	ticket         uint64 // 0 if it need not wait for others to merge with
}

// mostPushSteps bounds the steps of a push that waits for samples: what a dead worker has not sent is trained again.
const mostPushSteps = 20

// full reports whether nothing more is merged into a place.
func (q *SendQueue) full(p place) bool {
	if q.o.PushSamples > 1 {
		return p.steps >= mostPushSteps || p.samples >= q.o.PushSamples
	}
	return p.steps >= q.o.MaxMergeVarNum
}

type queueStatus uint8

const (
	queueRunning queueStatus = iota
	queueClosed              // sends waiting gradients
	queueFailed
)

// NewSendQueue returns an empty queue.
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

// Places returns how many gradients may wait or be under way.
func (q *SendQueue) Places() int { return len(q.places) }

// Requests returns how many requests may be under way at a time, without the receiver's.
func (q *SendQueue) Requests() int {
	if q.o.Apart() {
		return q.o.ThreadPoolSize + 1
	}
	return q.o.ThreadPoolSize
}

// Step records that a step has ended, and returns what the thread does with its gradient: copy or merge it to place at,
// which stays the thread's until Filled.
func (q *SendQueue) Step() (at int, turn Turn) {
	if q.end != queueRunning {
		return -1, TurnOver
	}
	if last := len(q.queue) - 1; last >= 0 && !q.full(q.places[q.queue[last]]) {
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

// Filled records that the gradient of the last Step, of so many samples, is in its place. If the thread's next pull
// follows at once, the gradient waits to go in the same request, unless pulls go apart. A ticket other than 0 is for
// Waited.
func (q *SendQueue) Filled(at, samples int, pullFollows bool) (ticket uint64) {
	q.filling--
	p := &q.places[at]
	p.steps++
	p.samples += samples
	switch {
	case q.full(*p):
		p.ticket = 0
	case p.steps == 1 && (q.o.Patient || q.o.PushSamples > 1):
		q.ticket++
		p.ticket, ticket = q.ticket, q.ticket
	}
	q.queue = append(q.queue, at)
	q.held = pullFollows && !q.o.Apart() && q.drains == 0 && q.end == queueRunning
	return ticket
}

// Waited records that the gradient of a ticket has waited long enough for others.
func (q *SendQueue) Waited(ticket uint64) {
	for at := range q.places {
		if q.places[at].ticket == ticket {
			q.places[at].ticket = 0
		}
	}
}

// Want requests a pull, in place of one of its kind that was not sent yet. It returns false when nothing more is sent.
func (q *SendQueue) Want(p Pull) bool {
	if q.end != queueRunning {
		return false
	}
	q.wanted[p], q.held = true, false
	return true
}

// Ready reports whether there is a request to send now, and what it pulls. A pull for an evaluation goes first, since
// its thread waits; the gradients before it are sent when they would have been.
func (q *SendQueue) Ready() (pull Pull, ok bool) {
	switch pull = q.pull(); {
	case q.end == queueFailed:
		return pull, false
	case q.o.Apart() && pull != PullNone && !q.pulling:
		return pull, true
	case q.busy == q.o.ThreadPoolSize:
		return pull, false
	case !q.o.Apart() && pull != PullNone:
		return pull, true
	}
	return PullNone, q.due()
}

// Next returns the request to send now, if there is one.
func (q *SendQueue) Next() (s Send, ok bool) {
	s.Place = -1
	if s.Pull, ok = q.Ready(); !ok {
		return Send{Place: -1}, false
	}
	if q.goesApart(s) {
		q.pulling = true
	} else if q.busy++; s.Pull != PullPeek {
		q.take(&s)
	}
	q.wanted[s.Pull] = false
	if s.Dense = q.bringsDense(s); s.Dense && !q.goesApart(s) {
		q.bringing++
	}
	return s, true
}

// pull returns the pull to send first.
func (q *SendQueue) pull() Pull {
	switch {
	case q.wanted[PullPeek]:
		return PullPeek
	case q.wanted[PullRows]:
		return PullRows
	}
	return PullNone
}

// due reports whether the oldest gradient should be sent.
func (q *SendQueue) due() bool { return !q.held && q.Ripe() }

// take puts the oldest gradient into a request, if there is one that need not wait.
func (q *SendQueue) take(s *Send) {
	if !q.Ripe() {
		return
	}
	s.Place = q.queue[0]
	s.Steps = q.places[s.Place].steps
	q.queue = slices.Delete(q.queue, 0, 1)
}

// goesApart reports whether a request is a pull without gradients.
func (q *SendQueue) goesApart(s Send) bool { return q.o.Apart() && s.Pull != PullNone }

// Late reports whether a step that pulls no rows should wait for an answer before it begins, since dense weights with
// this worker's last update are under way.
func (q *SendQueue) Late() bool {
	return q.end == queueRunning && q.bringing > 0 && !q.o.Apart() && !q.o.LookAhead
}

// Ripe reports whether there is a gradient that need not wait for others: it is full, has waited, or a Drain or the end
// of the queue waits for it. A gradient with another after it is full.
func (q *SendQueue) Ripe() bool {
	return len(q.queue) > 0 && (q.places[q.queue[0]].ticket == 0 || q.drains > 0 || q.end != queueRunning)
}

// Waiting returns the places whose gradients wait, valid until the queue's next change, and whether a request is under
// way: if none is, what they have is all that the weights which have arrived lack.
func (q *SendQueue) Waiting() (places []int, busy bool) { return q.queue, q.busy > 0 }

// bringsDense reports whether a request pulls dense weights too: a push does when enough steps were pushed since the
// last pull of dense weights, and an evaluation always does.
func (q *SendQueue) bringsDense(s Send) bool {
	if s.Pull == PullPeek {
		return true
	}
	if q.o.IndependentRecvThread {
		return false // Receive pulls them
	}
	q.sent += s.Steps
	if q.sent < q.o.MinSendGradNumBeforeRecv {
		return false
	}
	q.sent = 0
	return true
}

// Receive reports whether to send a separate request for dense weights now.
func (q *SendQueue) Receive() bool {
	if !q.o.IndependentRecvThread || q.receiving || q.end != queueRunning || q.sent < q.o.MinSendGradNumBeforeRecv {
		return false
	}
	q.sent, q.receiving = 0, true
	return true
}

// Answered records that a request of Next was answered, or failed.
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

// pushed counts acknowledged steps, for Receive.
func (q *SendQueue) pushed(steps int) {
	if q.o.IndependentRecvThread {
		q.sent += steps
	}
}

// Received records that a request of Receive was answered, or failed.
func (q *SendQueue) Received(ok bool) {
	q.receiving = false
	if !ok {
		q.end = queueFailed
	}
}

// Drain has all waiting gradients sent. The caller waits until Drained, and then calls Resume.
func (q *SendQueue) Drain() {
	q.drains++
	q.held = false
}

// Resume ends a Drain.
func (q *SendQueue) Resume() { q.drains-- }

// Drained reports whether no gradient waits and no request is under way.
func (q *SendQueue) Drained() bool {
	return q.filling == 0 && len(q.queue) == 0 && q.quiet()
}

func (q *SendQueue) quiet() bool { return q.busy == 0 && !q.pulling && !q.receiving }

// Close has all waiting gradients sent; then the queue is Over.
func (q *SendQueue) Close() {
	q.held = false
	if q.end == queueRunning {
		q.end = queueClosed
	}
}

// Over reports whether, after Close or a failure, nothing more will be sent and no request is under way.
func (q *SendQueue) Over() bool {
	return q.end == queueClosed && q.Drained() || q.end == queueFailed && q.quiet()
}

// Unsent returns how many steps have ended without an answer that shows that servers have applied them.
func (q *SendQueue) Unsent() (steps int) {
	for _, p := range q.places {
		steps += p.steps
	}
	return steps
}
