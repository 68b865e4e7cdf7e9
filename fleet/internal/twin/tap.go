package twin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// order is the network of a leg in which the order of pushes decides. Each request of a worker takes a drawn time,
// the same to all servers, and no two requests arrive at the same moment: so all servers have one order of what
// happens to them, which is noted.
type order struct {
	seed uint64

	mu      sync.Mutex // guards what follows
	sent    map[sending]*sent
	refused map[sending]*event // pushes that servers have refused, or were about to when they were killed
	taken   map[time.Time]bool
	pulls   map[int]uint64 // of a worker
	events  []*event
}

// sending is a worker's request: a push by its number, all else by when it was sent.
type sending struct {
	worker int
	push   uint64
	at     time.Time
}

// sent is a request on its way, and the event that it is when it arrives.
type sent struct {
	at time.Time
	*event
	reached map[string]bool // endpoints
	taken   bool            // by its server
}

// event is a request of a training step that has reached the servers: a push if it has samples, and ids that are
// read.
type event struct {
	worker  int
	samples int
	seq     uint64 // of a push
	on      uint64 // the version of server 0's weights to which a push was applied; 0 if that is not known
}

// made are the events, with pushes in the order in which server 0 has applied them: those that a cut has held go on at
// one moment.
func (o *order) made() []*event {
	all, pushes := slices.Clone(o.events), []*event(nil)
	for _, e := range all {
		if e.on > 0 {
			pushes = append(pushes, e)
		}
	}
	slices.SortStableFunc(pushes, func(a, b *event) int { return cmp.Compare(a.on, b.on) })
	for i, e := range all {
		if e.on > 0 {
			all[i], pushes = pushes[0], pushes[1:]
		}
	}
	return all
}

func newOrder(seed uint64) *order {
	return &order{seed: seed, sent: map[sending]*sent{}, refused: map[sending]*event{}, taken: map[time.Time]bool{},
		pulls: map[int]uint64{}}
}

// count is how many events there were.
func (o *order) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.events)
}

// send gives a request the time at which it arrives.
func (o *order) send(worker int, push uint64) *sent {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	key := sending{worker, push, now}
	if push > 0 {
		key.at = time.Time{}
	}
	s := o.sent[key]
	if s == nil {
		number := push
		if number == 0 {
			o.pulls[worker]++
			number = o.pulls[worker] << 32
		}
		r := rand.New(rand.NewPCG(o.seed, number<<8+uint64(worker)))
		s = &sent{event: &event{worker: worker}, reached: map[string]bool{}}
		s.at = now.Add(time.Duration(1+r.IntN(5000)) * time.Microsecond)
		for o.taken[s.at] {
			s.at = s.at.Add(time.Microsecond)
		}
		o.taken[s.at], o.sent[key] = true, s
	}
	return s
}

// arrived notes a frame of a training step. One that comes again to a server is another event, which has the samples if
// the first has not counted.
func (o *order) arrived(s *sent, endpoint string, f wire.Frame) *event {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := s.event
	switch {
	case s.reached[endpoint]:
		e = &event{worker: s.worker}
		o.events = append(o.events, e)
	case len(s.reached) == 0:
		o.events = append(o.events, e)
	}
	if s.reached[endpoint] = true; f.Seq > 0 && e == s.event {
		e.samples, e.seq = int(f.Samples), f.Seq
	}
	return e
}

// counted notes that a push was answered which has come as an event: it counts there or, if the answer says that it has
// counted before, where it came before.
func (o *order) counted(s *sent, push sending, e *event, did wire.Outcome, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.taken = true
	switch earlier := o.refused[push]; {
	case did.Again && e == s.event && earlier != nil:
		s.move(earlier)
	case !did.Again && e != s.event:
		s.move(e)
	}
	if first && !did.Again { // a version that is replayed has another number
		s.on = did.On
	}
	delete(o.refused, push)
}

// move has a push count as another event.
func (s *sent) move(to *event) {
	to.samples, to.seq = s.samples, s.seq
	s.samples, s.on = 0, 0
	s.event = to
}

// untaken notes that a push was not answered: it comes again. A server that it has reached may have taken it, and has
// not if it says so.
func (o *order) untaken(s *sent, push sending, reached, refused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.taken {
		return
	}
	if reached && s.samples > 0 {
		o.refused[push] = s.event
	}
	if !refused {
		return
	}
	if s.samples = 0; o.sent[push] == s {
		delete(o.sent, push)
	}
}

// behindEnvelope are the bytes of a frame behind the transport's envelope.
func behindEnvelope(req [][]byte) string {
	const envelope = 16
	all := bytes.Join(req, nil)
	return string(all[min(envelope, len(all)):])
}

// frameOf is a frame behind the transport's envelope; of one in pieces or in code its header.
func frameOf(req [][]byte) (f wire.Frame, ok bool) {
	all := []byte(behindEnvelope(req))
	if len(all) == 0 {
		return f, false
	}
	if f.Parse(all) == nil {
		return f, true
	}
	h, err := wire.ParseHeader(all)
	return wire.Frame{Header: h}, err == nil
}

// tapped is a worker's way to an ordered network.
type tapped struct {
	transport.Transport
	worker int
	*order
}

// Call implements [transport.Transport].
func (t tapped) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	f, ok := frameOf(req)
	step := ok && f.Op == wire.OpStep
	if !step {
		f.Seq = 0
	}
	s := t.send(t.worker, f.Seq)
	time.Sleep(time.Until(s.at))
	var e *event
	if step {
		e = t.arrived(s, endpoint, f)
	}
	var refused error
	var outcome wire.Outcome
	err := t.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if answer, ok := frameOf([][]byte{body}); step && ok {
			refused, outcome = answer.Refusal(), answer.Outcome()
		}
		return read(body)
	})
	push, away := sending{worker: t.worker, push: f.Seq}, errors.Is(err, transport.ErrUnreachable)
	switch {
	case err != nil || refused != nil:
		t.untaken(s, push, !away || errors.Is(err, errRefused), away || refused != nil)
	case f.Seq > 0:
		t.counted(s, push, e, outcome, endpoint == "server-0:1")
	}
	return err
}
