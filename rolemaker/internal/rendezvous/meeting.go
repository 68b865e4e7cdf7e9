package rendezvous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// meeting is one exchange between the ranks of a job: each calls rank 0 with its address, and rank 0 answers with the
// list when the last one has called.
type meeting struct {
	Process
	port  int // at which others call this rank, 0 if they don't
	place place
}

// retry is the pause after which a rank that could not reach rank 0 tries again.
const retry = 50 * time.Millisecond

// run returns the endpoints of all ranks, "" for a rank without one.
func (m meeting) run(ctx context.Context) ([]string, error) {
	if m.Rank == 0 {
		return m.lead(ctx)
	}
	return m.follow(ctx)
}

// lead is rank 0's part.
func (m meeting) lead(ctx context.Context) ([]string, error) {
	l, stop, err := m.place.open(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	calls, wait := m.receive(ctx, l)
	defer wait()
	defer cancel()
	all := &callers{meeting: m, calls: make([]call, m.Size)}
	for all.missing() > 0 {
		select {
		case c := <-calls:
			err = all.add(c)
		case <-ctx.Done():
			err = all.gaveUp(context.Cause(ctx))
		}
		if err != nil {
			all.answer(answer{Error: err.Error(), Final: true})
			return nil, err
		}
	}
	endpoints := all.endpoints()
	return endpoints, all.answer(answer{Endpoints: endpoints})
}

// receive accepts calls until ctx ends, and delivers the calls of this meeting. wait returns when no call is being
// handled.
func (m meeting) receive(ctx context.Context, l net.Listener) (calls chan call, wait func()) {
	calls = make(chan call)
	var wg sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { l.Close() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { m.greet(ctx, conn, calls) })
		}
	})
	return calls, func() { stop(); l.Close(); wg.Wait() }
}

// greet reads the caller's message and delivers the call, or refuses it.
func (m meeting) greet(ctx context.Context, conn net.Conn, calls chan<- call) {
	release := closeWith(ctx, conn)
	defer release()
	c := call{conn: conn}
	err := receiveMessage(conn, &c.hello)
	if err == nil {
		err = m.check(c.hello)
	}
	if err != nil {
		send(conn, answer{Error: err.Error()})
		conn.Close()
		return
	}
	select {
	case calls <- c:
	case <-ctx.Done():
		conn.Close()
	}
}

// check refuses a caller of another meeting.
func (m meeting) check(h hello) error {
	switch {
	case h.Version != meetingVersion:
		return fmt.Errorf("rank 0 speaks version %d of the rendezvous, the caller version %d", meetingVersion,
			h.Version)
	case h.Job != m.Job:
		return fmt.Errorf("here meets job %q, not job %q", m.Job, h.Job)
	case h.Size != m.Size:
		return fmt.Errorf("here meet %d ranks, the caller says %d", m.Size, h.Size)
	case h.Rank < 1 || h.Rank >= m.Size || h.Port < 0 || h.Port > 65535:
		return fmt.Errorf("no rank %d with port %d can be among %d", h.Rank, h.Port, m.Size)
	}
	return nil
}

// follow is the part of every other rank: it calls until rank 0 answers.
func (m meeting) follow(ctx context.Context) ([]string, error) {
	for {
		endpoints, err := m.call(ctx)
		if _, final := errors.AsType[permanent](err); final || err == nil {
			return endpoints, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("rank %d of %d did not get through to rank 0 at %v: %w; the last attempt: %w",
				m.Rank, m.Size, m.place, context.Cause(ctx), err)
		case <-time.After(retry):
		}
	}
}

// call is one attempt.
func (m meeting) call(ctx context.Context) ([]string, error) {
	address, err := m.place.address()
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer closeWith(ctx, conn)()
	h := hello{meetingVersion, m.Job, m.Rank, m.Size, cmp.Or(m.Host, ipOf(conn.LocalAddr())), m.port}
	if err := send(conn, h); err != nil {
		return nil, err
	}
	var a answer
	switch err := receiveMessage(conn, &a); {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("rank 0 at %s was still waiting for others", address)
	case err != nil:
		return nil, fmt.Errorf("rank 0 at %s hung up: %w", address, err)
	}
	return a.result(m.Size)
}

// permanent is an error after which another attempt can't succeed.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func (a answer) result(size int) ([]string, error) {
	switch {
	case a.Final:
		return nil, permanent{fmt.Errorf("rank 0 called the rendezvous off: %s", a.Error)}
	case a.Error != "":
		return nil, errors.New(a.Error)
	case len(a.Endpoints) != size:
		return nil, fmt.Errorf("rank 0 knows %d of %d ranks", len(a.Endpoints), size)
	}
	return a.Endpoints, nil
}

// closeWith closes conn when ctx ends. release undoes it.
func closeWith(ctx context.Context, conn net.Conn) (release func()) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return func() { stop() }
}
