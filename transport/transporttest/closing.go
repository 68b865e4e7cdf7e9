package transporttest

import (
	"context"
	"errors"

	"github.com/gofleet/gofleet/transport"
)

// closeWaits closes a listener during calls: they are answered, and Close and Serve return only then.
func closeWaits(r *room) {
	const n = 4
	entered, release := make(chan struct{}, n), make(chan struct{})
	l := r.listen()
	served := r.start(l, func(req []byte, reply *transport.Reply) {
		if len(req) > 0 {
			entered <- struct{}{}
			<-release
		}
		reply.Parts = [][]byte{make([]byte, 1<<20)}
	})
	if _, err := r.ask(r.ctx, l.Endpoint()); err != nil { // leaves an idle connection behind
		r.Fatal(err)
	}
	answers := make(chan error, n)
	for range n {
		go func() {
			got, err := r.ask(r.ctx, l.Endpoint(), []byte("stay"))
			if err == nil && len(got) != 1<<20 {
				err = errors.New("the answer was cut")
			}
			answers <- err
		}()
	}
	for range n {
		await(r, "the handlers", entered)
	}
	closed := make(chan error, 2)
	go func() { closed <- l.Close(r.ctx) }()
	go func() { closed <- l.Close(r.ctx) }()
	for refused := false; !refused; { // Close has begun when new calls fail
		_, err := r.ask(r.ctx, l.Endpoint())
		refused = errors.Is(err, transport.ErrUnreachable)
		if r.ctx.Err() != nil {
			r.Fatal("new calls are not turned away")
		}
	}
	if len(closed) > 0 {
		r.Error("Close did not wait for the handlers")
	}
	close(release)
	for range n {
		if err := await(r, "the answers", answers); err != nil {
			r.Errorf("a call that was in its handler when Close came: %v", err)
		}
	}
	for range 2 {
		if err := await(r, "Close", closed); err != nil {
			r.Errorf("Close: %v", err)
		}
	}
	if err := await(r, "Serve", served); err != nil {
		r.Errorf("Serve: %v", err)
	}
}

// closeGivesUp closes with a ctx that ends before the handler does.
func closeGivesUp(r *room) {
	entered, release := make(chan struct{}), make(chan struct{})
	l := r.listen()
	served := r.start(l, func([]byte, *transport.Reply) {
		close(entered)
		<-release
	})
	gone := make(chan struct{})
	go func() {
		_, _ = r.ask(r.ctx, l.Endpoint(), []byte("stay"))
		close(gone)
	}()
	await(r, "the handler", entered)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	err := l.Close(ctx)
	if !errors.Is(err, context.Canceled) {
		r.Errorf("Close gave up with %v, want context.Canceled", err)
	}
	r.named(err, l.Endpoint())
	close(release)
	if err := l.Close(r.ctx); err != nil {
		r.Errorf("the second Close: %v", err)
	}
	if err := await(r, "Serve", served); err != nil {
		r.Errorf("Serve: %v", err)
	}
	await(r, "the call", gone)
}

// closeFrees closes an endpoint that was never served, and one that was served, and listens on it again.
func closeFrees(r *room) {
	l := r.listen()
	endpoint := l.Endpoint()
	if _, err := r.Listen(endpoint); err == nil {
		r.Errorf("two listeners got %s", endpoint)
	}
	if err := l.Close(r.ctx); err != nil {
		r.Errorf("Close without Serve: %v", err)
	}
	if err := await(r, "Serve after Close", r.start(l, echoes)); err != nil {
		r.Errorf("Serve after Close: %v", err)
	}
	for range 2 {
		again, err := r.Listen(endpoint)
		if err != nil {
			r.Fatalf("listening again: %v", err)
		}
		served := r.start(again, echoes)
		if got, err := r.ask(r.ctx, endpoint, []byte("again")); err != nil || got != "again" {
			r.Errorf("%q, %v", got, err)
		}
		if err := again.Close(r.ctx); err != nil {
			r.Errorf("Close: %v", err)
		}
		if err := await(r, "Serve", served); err != nil {
			r.Errorf("Serve: %v", err)
		}
	}
}

// serveOnce calls Serve a second time.
func serveOnce(r *room) {
	l := r.serve(echoes)
	if _, err := r.ask(r.ctx, l.Endpoint()); err != nil {
		r.Fatal(err)
	}
	err := await(r, "the second Serve", r.start(l, echoes))
	if err == nil {
		r.Error("Serve can be called twice")
	}
	r.named(err, l.Endpoint())
	if got, err := r.ask(r.ctx, l.Endpoint(), []byte("still")); err != nil || got != "still" {
		r.Errorf("after it: %q, %v", got, err)
	}
}
