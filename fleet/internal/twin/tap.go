package twin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

	mu     sync.Mutex // guards what follows
	sent   map[sending]*sent
	taken  map[time.Time]bool
	pulls  map[int]uint64 // of a worker
	events []*event
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
	noted bool
	taken bool // by its server
}

// event is a request of a training step that has reached the servers: a push if it has samples, and ids that are
// read.
type event struct {
	worker  int
	samples int
	seq     uint64 // of a push
}

func newOrder(seed uint64) *order {
	return &order{seed: seed, sent: map[sending]*sent{}, taken: map[time.Time]bool{}, pulls: map[int]uint64{}}
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
		s = &sent{event: &event{worker: worker}}
		s.at = now.Add(time.Duration(1+r.IntN(5000)) * time.Microsecond)
		for o.taken[s.at] {
			s.at = s.at.Add(time.Microsecond)
		}
		o.taken[s.at], o.sent[key] = true, s
	}
	return s
}

// arrived notes a frame of a training step.
func (o *order) arrived(s *sent, f wire.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !s.noted {
		s.noted = true
		o.events = append(o.events, s.event)
	}
	if f.Seq > 0 {
		s.samples, s.seq = int(f.Samples), f.Seq
	}
}

// ended notes whether the server of a push has taken it; one that it has not has not arrived, and comes again.
func (o *order) ended(s *sent, push sending, taken bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.taken = s.taken || taken; s.taken {
		return
	}
	s.samples = 0
	if o.sent[push] == s {
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
	if step {
		t.arrived(s, f)
	}
	var refused error
	err := t.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		if answer, ok := frameOf([][]byte{body}); step && ok {
			refused = answer.Refusal()
		}
		return read(body)
	})
	t.ended(s, sending{worker: t.worker, push: f.Seq}, !errors.Is(err, transport.ErrUnreachable) && refused == nil)
	return err
}

// measured notes messages of training that are larger than MaxFrame.
type measured struct {
	transport.Transport
	most int
	r    *run
}

// Call implements [transport.Transport].
func (t measured) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	f, ok := frameOf(req)
	if !ok || f.Op != wire.OpStep && f.Op != wire.OpPeek && f.Op != wire.OpPiece {
		return t.Transport.Call(ctx, endpoint, req, read)
	}
	sent := 0
	for _, part := range req {
		sent += len(part)
	}
	t.check("a request", sent)
	return t.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		t.check("an answer", len(body))
		return read(body)
	})
}

func (t measured) check(what string, bytes int) {
	if bytes <= t.most {
		return
	}
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.saw.wide = append(t.r.saw.wide, fmt.Sprintf("%s of %d bytes, where %d are the most", what, bytes, t.most))
}
