package mode

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/script"
)

// TestSendQueueScripts plays every testdata/async_*.queue: a line is what a training thread or an answer tells the queue, and
// "->" what is done then. Gradients go by the numbers of their steps.
//
//	queue name=value …       a new queue with these options
//	step, step ahead         a step of 10 samples has ended; the next pull follows at once
//	begin, filled            the same in two, before and after the gradient is written
//	rows, peek               a pull, of a step or an evaluation
//	answered 1+2, failed 1   a request, by what it has
//	received, lost           the receiver's request, answered or not
//	waited 1                 the timer of the gradient that began with step 1
//	drain, resume, close     the end of an epoch and its beginning, the end of the session
//	unsent                   how many steps may not have been applied
//	late                     whether a step without rows should wait
func TestSendQueueScripts(t *testing.T) {
	script.Play(t, "async_*.queue", func(t *testing.T, lines iter.Seq[script.Line]) {
		var w *asyncWorker
		for l := range lines {
			if l.Words[0] == "queue" {
				w = newAsyncWorker(sendOptions(t, l.Words[1:]))
				continue
			}
			w.said = nil
			w.tell(t, l.Words)
			w.act()
			l.Check(t, strings.Join(w.said, ", "))
		}
	})
}

// sendOptions reads the options of a script's queue, by the strategy's names.
func sendOptions(t *testing.T, words []string) (o SendOptions) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "max_merge_var_num":
			o.MaxMergeVarNum = script.Number(t, value)
		case "push_samples":
			o.PushSamples = script.Number(t, value)
		case "send_queue_size":
			o.SendQueueSize = script.Number(t, value)
		case "thread_pool_size":
			o.ThreadPoolSize = script.Number(t, value)
		case "send_wait_times":
			o.Patient = script.Number(t, value) > 0
		case "look_ahead":
			o.LookAhead = true
		case "independent_recv_thread":
			o.IndependentRecvThread = true
		case "min_send_grad_num_before_recv":
			o.MinSendGradNumBeforeRecv = script.Number(t, value)
		default:
			t.Fatalf("unknown option %q", word)
		}
	}
	return o
}

// asyncWorker is a training thread and its senders, as package client has them, with the numbers of steps for gradients.
type asyncWorker struct {
	q       *SendQueue
	steps   int     // that have ended
	places  [][]int // the steps in each place
	at      int     // the place that is written to
	ahead   bool    // the waiting step's pull follows at once
	waiting bool    // the last step has no place yet
	drains  bool    // somebody waits until nothing is left
	over    bool
	flight  map[string]Send // by what it has
	tickets map[string]uint64
	said    []string
}

func newAsyncWorker(o SendOptions) *asyncWorker {
	w := &asyncWorker{q: NewSendQueue(o), flight: map[string]Send{}, tickets: map[string]uint64{}}
	w.places = make([][]int, w.q.Places())
	return w
}

func (w *asyncWorker) say(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *asyncWorker) tell(t *testing.T, words []string) {
	ahead := words[len(words)-1] == "ahead"
	switch words[0] {
	case "step":
		if w.begin(ahead) {
			w.fill()
		}
	case "begin":
		w.begin(ahead)
	case "filled":
		w.fill()
	case "rows", "peek":
		if !w.q.Want(map[string]Pull{"rows": PullRows, "peek": PullPeek}[words[0]]) {
			w.say("over")
		}
	case "answered", "failed":
		w.answer(t, words[1], words[0] == "answered")
	case "received", "lost":
		w.q.Received(words[0] == "received")
	case "waited":
		w.q.Waited(w.tickets[words[1]])
	case "drain":
		w.drains = true
		w.q.Drain()
	case "resume":
		w.q.Resume()
	case "close":
		w.q.Close()
	case "late":
		w.say("%t", w.q.Late())
	case "unsent":
		w.say("%d", w.q.Unsent())
	default:
		t.Fatalf("unknown line %q", words)
	}
}

// begin ends a step and says whether it has a place.
func (w *asyncWorker) begin(ahead bool) bool {
	if !w.waiting {
		w.steps++
	}
	at, turn := w.q.Step()
	w.at, w.ahead, w.waiting = at, ahead, turn == TurnWait
	switch turn {
	case TurnCopy:
		w.places[at] = []int{w.steps}
		return true
	case TurnMerge:
		w.places[at] = append(w.places[at], w.steps)
		return true
	case TurnWait:
		w.say("wait")
	case TurnOver:
		w.say("over")
	}
	return false
}

func (w *asyncWorker) fill() {
	if ticket := w.q.Filled(w.at, 10, w.ahead); ticket > 0 {
		w.tickets[fmt.Sprint(w.steps)] = ticket
		w.say("timer")
	}
}

func (w *asyncWorker) answer(t *testing.T, what string, ok bool) {
	s, is := w.flight[what]
	if !is {
		t.Fatalf("%q is not on its way, but %v", what, w.flight)
	}
	delete(w.flight, what)
	w.q.Answered(s, ok)
}

// act does what the queue decides. A thread that waits tries again when something was answered.
func (w *asyncWorker) act() {
	w.send()
	if w.waiting && (len(w.q.free) > 0 || w.q.end != queueRunning) && w.begin(w.ahead) {
		w.say("goes on")
		w.fill()
		w.send()
	}
	if w.drains && w.q.Drained() {
		w.drains = false
		w.say("drained")
	}
	if w.q.Over() && !w.over {
		w.over = true
		w.say("the end")
	}
}

func (w *asyncWorker) send() {
	for s, ok := w.q.Next(); ok; s, ok = w.q.Next() {
		what := [...]string{"", "rows", "peek"}[s.Pull]
		if s.Place >= 0 {
			what = strings.TrimSuffix(strings.Trim(strings.ReplaceAll(fmt.Sprint(w.places[s.Place]), " ", "+"), "[]")+"+"+what, "+")
		}
		w.flight[what] = s
		if s.Dense {
			w.say("send %s for dense", what)
		} else {
			w.say("send %s", what)
		}
	}
	if w.q.Receive() {
		w.say("receive")
	}
}

// TestSendQueueAllocatesNothing makes steps of each kind, with rows ahead.
func TestSendQueueAllocatesNothing(t *testing.T) {
	q := NewSendQueue(SendOptions{MaxMergeVarNum: 2, SendQueueSize: 2, ThreadPoolSize: 2, Patient: true})
	step := func() {
		for range 3 {
			at, _ := q.Step()
			q.Waited(q.Filled(at, 1, true))
			q.Want(PullRows)
			for s, ok := q.Next(); ok; s, ok = q.Next() {
				q.Answered(s, true)
			}
		}
	}
	if n := testing.AllocsPerRun(100, step); n != 0 || q.Unsent() != 0 {
		t.Errorf("%v allocations, %d steps unsent", n, q.Unsent())
	}
}
