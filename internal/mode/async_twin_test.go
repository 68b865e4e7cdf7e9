package mode

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainQueue is what a [SendQueue] decides, without places: gradients are lists of their steps.
type plainQueue struct {
	o         SendOptions
	waiting   []plainGradient // the oldest first
	flying    int             // gradients on their way
	busy      int             // requests on their way, but pulls that go apart
	pulling   bool            // a pull that goes apart is on its way
	bringing  int             // requests with gradients on their way that bring dense weights
	rows      bool            // wanted
	peek      bool
	held      bool
	drains    int
	over      bool // takes no more
	failed    bool
	receiving bool
	pushed    int
}

type plainGradient struct {
	steps   []int
	samples int
	patient bool
}

func (p *plainQueue) step() Turn {
	n := len(p.waiting)
	switch {
	case p.over:
		return TurnOver
	case n > 0 && !p.full(p.waiting[n-1]):
		return TurnMerge
	case n+p.flying == p.o.SendQueueSize+p.o.ThreadPoolSize:
		p.held = false
		return TurnWait
	}
	return TurnCopy
}

// take takes the newest gradient out, to be added to; nothing for a new one.
func (p *plainQueue) take(turn Turn) (g plainGradient) {
	if n := len(p.waiting) - 1; turn == TurnMerge {
		g, p.waiting = p.waiting[n], p.waiting[:n]
	}
	return g
}

func (p *plainQueue) full(g plainGradient) bool {
	if p.o.PushSamples > 1 {
		return len(g.steps) == mostPushSteps || g.samples >= p.o.PushSamples
	}
	return len(g.steps) == p.o.MaxMergeVarNum
}

func (p *plainQueue) put(g plainGradient, step, samples int, follows bool) {
	waits := (p.o.Patient || p.o.PushSamples > 1) && (g.patient || len(g.steps) == 0)
	g.steps, g.samples = append(g.steps, step), g.samples+samples
	g.patient = waits && !p.full(g)
	p.waiting = append(p.waiting, g)
	p.held = follows && p.drains == 0 && !p.over && !p.apart()
}

// apart says that nothing orders pulls and gradients.
func (p *plainQueue) apart() bool {
	return p.o.MaxMergeVarNum > 1 || p.o.SendQueueSize > 1 || p.o.ThreadPoolSize > 1
}

// next is what goes now: a gradient's steps, a pull, and dense weights.
func (p *plainQueue) next() (steps []int, pull Pull, dense, ok bool) {
	ripe := len(p.waiting) > 0 && (!p.waiting[0].patient || p.drains > 0 || p.over)
	may := ripe && !p.held
	apart, free := p.apart(), p.busy < p.o.ThreadPoolSize
	pulls := (p.rows || p.peek) && (apart && !p.pulling || !apart && free)
	if p.failed || !pulls && !(free && may) {
		return nil, 0, false, false
	}
	if pulls {
		pull = PullRows
		if p.peek {
			pull = PullPeek
		}
		p.rows, p.peek = p.rows && pull != PullRows, p.peek && pull != PullPeek
	}
	if pulls && apart {
		p.pulling = true
		return nil, pull, pull == PullPeek, true
	}
	p.busy++
	if pull == PullPeek {
		p.bringing++
		return nil, pull, true, true
	}
	if ripe {
		steps, p.waiting = p.waiting[0].steps, p.waiting[1:]
		p.flying++
	}
	if p.o.IndependentRecvThread {
		return steps, pull, false, true
	}
	if p.pushed += len(steps); p.pushed >= p.o.MinSendGradNumBeforeRecv {
		p.pushed, dense = 0, true
		p.bringing++
	}
	return steps, pull, dense, true
}

func (p *plainQueue) receive() bool {
	if p.o.IndependentRecvThread && !p.receiving && !p.over && p.pushed >= p.o.MinSendGradNumBeforeRecv {
		p.pushed, p.receiving = 0, true
		return true
	}
	return false
}

func (p *plainQueue) answered(s Send, steps []int, ok bool) {
	if s.Pull != PullNone && p.apart() {
		p.pulling = false
	} else {
		p.busy--
		if s.Dense {
			p.bringing--
		}
	}
	if !ok {
		p.over, p.failed = true, true
		return
	}
	if steps != nil {
		p.flying--
	}
	if p.o.IndependentRecvThread {
		p.pushed += len(steps)
	}
}

// asyncTrial plays a queue and its twin together.
type asyncTrial struct {
	q       *SendQueue
	p       plainQueue
	places  [][]int // the steps in each place
	steps   int
	writing func(follows bool) // ends the step whose gradient is being written; nil
	flight  []Send
	tickets map[uint64]int // the first step of each
	sent    []int          // steps, in the order they went
	applied []int
}

func (w *asyncTrial) step(t *rapid.T) {
	if w.writing != nil {
		t.Skip("one thread")
	}
	want := w.p.step()
	at, turn := w.q.Step()
	if turn != want {
		t.Fatalf("step %d: turn %d, want %d", w.steps+1, turn, want)
	}
	if turn == TurnWait || turn == TurnOver {
		w.act(t)
		return
	}
	w.steps++
	g := w.p.take(turn)
	if !slices.Equal(w.places[at], g.steps) {
		t.Fatalf("step %d goes to steps %v, want %v", w.steps, w.places[at], g.steps)
	}
	w.places[at] = append(w.places[at], w.steps)
	samples := rapid.IntRange(0, 9).Draw(t, "samples")
	w.writing = func(follows bool) {
		w.p.put(g, w.steps, samples, follows)
		if ticket := w.q.Filled(at, samples, follows); ticket != 0 {
			w.tickets[ticket] = w.steps
		}
	}
}

func (w *asyncTrial) filled(t *rapid.T) {
	if w.writing == nil {
		t.Skip("nothing is written")
	}
	w.writing(rapid.Bool().Draw(t, "a pull follows"))
	w.writing = nil
	w.act(t)
}

func (w *asyncTrial) want(t *rapid.T) {
	pull := rapid.SampledFrom([]Pull{PullRows, PullPeek}).Draw(t, "pull")
	if ok := w.q.Want(pull); ok == w.p.over {
		t.Fatalf("a pull is taken: %t, the queue is over: %t", ok, w.p.over)
	}
	if !w.p.over {
		w.p.rows, w.p.peek, w.p.held = w.p.rows || pull == PullRows, w.p.peek || pull == PullPeek, false
	}
	w.act(t)
}

func (w *asyncTrial) answer(t *rapid.T) {
	if len(w.flight) == 0 {
		t.Skip("nothing is on its way")
	}
	i := rapid.IntRange(0, len(w.flight)-1).Draw(t, "request")
	w.settle(t, i, rapid.IntRange(0, 40).Draw(t, "luck") > 0)
}

func (w *asyncTrial) settle(t *rapid.T, i int, ok bool) {
	s := w.flight[i]
	w.flight = slices.Delete(w.flight, i, i+1)
	var steps []int
	if s.Place >= 0 {
		steps = w.places[s.Place]
	}
	if ok && s.Place >= 0 {
		w.applied = append(w.applied, steps...)
		w.places[s.Place] = nil
	}
	w.p.answered(s, steps, ok)
	w.q.Answered(s, ok)
	w.act(t)
}

func (w *asyncTrial) waited(t *rapid.T) {
	ticket := rapid.Uint64Range(1, uint64(len(w.tickets)+1)).Draw(t, "ticket")
	for i, g := range w.p.waiting {
		if g.steps[0] == w.tickets[ticket] {
			w.p.waiting[i].patient = false
		}
	}
	if w.writing == nil { // else the twin has it in its hand
		w.q.Waited(ticket)
	}
	w.act(t)
}

func (w *asyncTrial) received(t *rapid.T) {
	if !w.p.receiving {
		t.Skip("nothing is received")
	}
	w.p.receiving = false
	w.q.Received(true)
	w.act(t)
}

func (w *asyncTrial) drain(t *rapid.T) {
	if w.p.drains > 0 && rapid.Bool().Draw(t, "resume") {
		w.q.Resume()
		w.p.drains--
	} else {
		w.q.Drain()
		w.p.drains++
		w.p.held = false
	}
	w.act(t)
}

func (w *asyncTrial) close(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip("not yet")
	}
	w.q.Close()
	w.p.over, w.p.held = true, false
	w.act(t)
}

// act lets go what goes, and compares.
func (w *asyncTrial) act(t *rapid.T) {
	for {
		steps, pull, dense, want := w.p.next()
		s, ok := w.q.Next()
		if ok != want {
			t.Fatalf("a request goes: %t, want %t", ok, want)
		}
		if !ok {
			break
		}
		var got []int
		if s.Place >= 0 {
			got = w.places[s.Place]
		}
		if !slices.Equal(got, steps) || s.Steps != len(steps) || s.Pull != pull || s.Dense != dense {
			t.Fatalf("%+v with steps %v goes, want %v, pull %d, dense %t", s, got, steps, pull, dense)
		}
		w.flight, w.sent = append(w.flight, s), append(w.sent, got...)
	}
	if got, want := w.q.Receive(), w.p.receive(); got != want {
		t.Fatalf("the receiver goes: %t, want %t", got, want)
	}
}

// laws hold at any time: no step is sent twice or lost, a single thread sends in order, and nothing is larger or more than
// the options say.
func (w *asyncTrial) laws(t *rapid.T) {
	o := w.q.o
	if o.PushSamples > 1 {
		o.MaxMergeVarNum = mostPushSteps
	}
	if ordered := slices.IsSorted(w.sent); o.ThreadPoolSize == 1 && !ordered {
		t.Fatalf("sent in the order %v", w.sent)
	}
	for _, steps := range w.places {
		if len(steps) > o.MaxMergeVarNum {
			t.Fatalf("steps %v are merged, at most %d may be", steps, o.MaxMergeVarNum)
		}
	}
	all := slices.Concat(append([][]int{w.applied}, w.places...)...)
	slices.Sort(all)
	for i, step := range all {
		if step != i+1 {
			t.Fatalf("applied, waiting and on their way are steps %v", all)
		}
	}
	if len(all) != w.steps {
		t.Fatalf("%d steps have ended, %d are known", w.steps, len(all))
	}
	unsent := w.q.Unsent()
	if w.writing != nil {
		unsent++ // the queue counts it when it is there
	}
	if unsent != w.steps-len(w.applied) || unsent > (o.SendQueueSize+o.ThreadPoolSize)*o.MaxMergeVarNum {
		t.Fatalf("%d steps are unsent, want %d", unsent, w.steps-len(w.applied))
	}
	if len(w.flight) > w.q.Requests() {
		t.Fatalf("%d requests are on their way, at most %d may be", len(w.flight), w.q.Requests())
	}
	if late := w.p.bringing > 0 && !w.p.apart() && !o.LookAhead && !w.p.over; w.q.Late() != late {
		t.Fatalf("a step should wait: %t, want %t", !late, late)
	}
}

// TestSendQueueTwin plays queues of any options and their twins at random, and then to the end.
//
// Promise: [G1] no push is lost or doubled when several are in flight, queued or merged
func TestSendQueueTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, 4)
		o := SendOptions{MaxMergeVarNum: size.Draw(t, "merge"), SendQueueSize: size.Draw(t, "queue"), ThreadPoolSize: size.Draw(t, "threads"),
			Patient: rapid.Bool().Draw(t, "patient"), IndependentRecvThread: rapid.Bool().Draw(t, "receiver"), MinSendGradNumBeforeRecv: size.Draw(t, "before recv"),
			LookAhead: rapid.Bool().Draw(t, "look ahead")}
		if rapid.IntRange(0, 3).Draw(t, "samples") == 0 {
			o = SendOptions{PushSamples: rapid.IntRange(2, 60).Draw(t, "of a push")}
		}
		w := &asyncTrial{q: NewSendQueue(o), tickets: map[uint64]int{}}
		w.p.o, w.places = w.q.o, make([][]int, w.q.Places())
		t.Repeat(map[string]func(*rapid.T){"step": w.step, "filled": w.filled, "want": w.want, "answer": w.answer, "waited": w.waited,
			"received": w.received, "drain": w.drain, "close": w.close, "": w.laws})
		w.finish(t)
	})
}

// finish closes and answers everything: then all has been applied, unless something failed.
func (w *asyncTrial) finish(t *rapid.T) {
	if w.writing != nil {
		w.writing(false)
		w.writing = nil
	}
	w.q.Close()
	w.p.over, w.p.held = true, false
	w.act(t)
	for len(w.flight) > 0 {
		w.settle(t, 0, true)
	}
	if w.p.receiving {
		w.received(t)
	}
	w.laws(t)
	if !w.q.Over() {
		t.Fatal("closed and answered, but not over")
	}
	if !w.p.failed && (len(w.applied) != w.steps || w.q.Unsent() != 0 || !w.q.Drained()) {
		t.Fatalf("%d of %d steps were applied", len(w.applied), w.steps)
	}
}
