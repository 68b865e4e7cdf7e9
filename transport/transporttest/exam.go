package transporttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// Run examines the transports that build makes. endpoint returns an endpoint to listen on; it may be the same each time
// if it ends in ":0" or if the transports do not share it. A transport whose MessageLimit is 64 MiB or less is
// also examined at its bound; otherwise the exam's largest message has 8 MiB.
func Run(t *testing.T, build func() transport.Transport, endpoint func() string) {
	for _, e := range []struct {
		name string
		exam func(*room)
	}{
		{"Echo", echo},
		{"Parts", parts},
		{"CallBeforeServe", callBeforeServe},
		{"Concurrent", concurrent},
		{"ManyEndpoints", manyEndpoints},
		{"ReadError", readError},
		{"Unreachable", unreachable},
		{"EndedBefore", endedBefore},
		{"Cancel", cancelled},
		{"Deadline", deadline},
		{"DeadlineWhileSending", deadlineWhileSending},
		{"TooLarge", tooLarge},
		{"Panic", panics},
		{"Done", done},
		{"Lent", lent},
		{"Close", closeWaits},
		{"CloseGivesUp", closeGivesUp},
		{"CloseFreesEndpoint", closeFrees},
		{"ServeOnce", serveOnce},
		{"Counts", counts},
	} {
		t.Run(e.name, func(t *testing.T) {
			checkLeaks(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			tr := build()
			if idle, ok := tr.(transport.IdleCloser); ok {
				t.Cleanup(idle.CloseIdleConnections)
			}
			e.exam(&room{T: t, Transport: tr, ctx: ctx, endpoint: endpoint})
		})
	}
}

// patience is how long the exam waits for events that should happen at once.
var patience = 20 * time.Second

// room is the environment of one exam.
type room struct {
	*testing.T
	transport.Transport
	ctx      context.Context
	endpoint func() string
}

// listen claims an endpoint without serving it.
func (r *room) listen() transport.Listener {
	r.Helper()
	l, err := r.Listen(r.endpoint())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = l.Close(ctx)
	})
	return l
}

// serve claims an endpoint and serves it until the exam ends, which checks that Serve and Close return nil.
func (r *room) serve(h transport.Handler) transport.Listener {
	r.Helper()
	l := r.listen()
	served := r.start(l, h)
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			r.Errorf("Close: %v", err)
			return
		}
		select {
		case err := <-served:
			if err != nil {
				r.Errorf("Serve: %v", err)
			}
		case <-ctx.Done():
			r.Error("Serve did not return after Close")
		}
	})
	return l
}

// start serves l and returns a channel of Serve's result.
func (r *room) start(l transport.Listener, h transport.Handler) <-chan error {
	served := make(chan error, 1)
	go func() { served <- l.Serve(h) }()
	return served
}

// ask calls with one slice and returns a copy of the answer.
func (r *room) ask(ctx context.Context, endpoint string, req ...[]byte) (string, error) {
	answer, calls := "", 0
	err := r.Call(ctx, endpoint, req, func(body []byte) error {
		calls++
		answer = string(body)
		return nil
	})
	if err == nil && calls != 1 {
		return "", fmt.Errorf("read was called %d times", calls)
	}
	return answer, err
}

// await returns the next value of c, and fails the exam if none comes within patience.
func await[T any](r *room, what string, c <-chan T) T {
	r.Helper()
	select {
	case v := <-c:
		return v
	case <-r.ctx.Done():
		r.Fatalf("%s: nothing happened for %v", what, patience)
		panic("unreachable")
	}
}

// echoes answers with a copy of the request.
func echoes(req []byte, reply *transport.Reply) {
	reply.Parts = [][]byte{append([]byte(nil), req...)}
}
