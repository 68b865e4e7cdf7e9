package transporttest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// named checks that an error names its endpoint.
func (r *room) named(err error, endpoint string) {
	r.Helper()
	if err != nil && !strings.Contains(err.Error(), endpoint) {
		r.Errorf("the error does not name the endpoint %s: %v", endpoint, err)
	}
}

// unreachable calls an endpoint that never listened, and one that no longer listens.
func unreachable(r *room) {
	l := r.listen()
	served := r.start(l, echoes)
	endpoint := l.Endpoint()
	if _, err := r.ask(r.ctx, endpoint, []byte("x")); err != nil {
		r.Fatal(err)
	}
	if err := l.Close(r.ctx); err != nil {
		r.Fatal(err)
	}
	if err := await(r, "Serve", served); err != nil {
		r.Fatal(err)
	}
	for _, n := range []int{0, 1 << 20} {
		_, err := r.ask(r.ctx, endpoint, make([]byte, n))
		if !errors.Is(err, transport.ErrUnreachable) {
			r.Errorf("%d bytes after Close: %v, want ErrUnreachable", n, err)
		}
		r.named(err, endpoint)
	}
}

// endedBefore calls with a ctx that has ended.
func endedBefore(r *room) {
	var served atomic.Int32
	l := r.serve(func([]byte, *transport.Reply) { served.Add(1) })
	if _, err := r.ask(r.ctx, l.Endpoint()); err != nil {
		r.Fatal(err)
	}
	why := errors.New("the worker stops")
	ctx, cancel := context.WithCancelCause(r.ctx)
	cancel(why)
	_, err := r.ask(ctx, l.Endpoint())
	if !errors.Is(err, why) {
		r.Errorf("the error does not wrap ctx's cause: %v", err)
	}
	r.named(err, l.Endpoint())
	if served.Load() != 1 {
		r.Error("the call was served")
	}
}

// cancelled cancels a ctx while the handler runs. Call returns long before the handler, and other calls continue.
func cancelled(r *room) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	l := r.serve(func(req []byte, reply *transport.Reply) {
		if string(req) == "stay" {
			entered <- struct{}{}
			<-release
		}
		echoes(req, reply)
	})
	defer close(release)
	ctx, cancel := context.WithCancel(r.ctx)
	result := make(chan error, 1)
	go func() {
		_, err := r.ask(ctx, l.Endpoint(), []byte("stay"))
		result <- err
	}()
	await(r, "the handler", entered)
	cancel()
	err := await(r, "the cancelled call", result)
	if !errors.Is(err, context.Canceled) {
		r.Errorf("cancelled: %v, want context.Canceled", err)
	}
	if errors.Is(err, transport.ErrUnreachable) {
		r.Errorf("cancelled in the handler, and the error says that nobody saw it: %v", err)
	}
	r.named(err, l.Endpoint())
	for range 3 {
		if got, err := r.ask(r.ctx, l.Endpoint(), []byte("next")); err != nil || got != "next" {
			r.Errorf("the call after it: %q, %v", got, err)
		}
	}
}

// deadline lets a call's time run out while the handler runs.
func deadline(r *room) {
	release := make(chan struct{})
	l := r.serve(func([]byte, *transport.Reply) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
	defer cancel()
	_, err := r.ask(ctx, l.Endpoint(), []byte("stay"))
	if !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("%v, want context.DeadlineExceeded", err)
	}
	r.named(err, l.Endpoint())
	if r.ctx.Err() != nil {
		r.Error("the call came back much too late")
	}
}

// deadlineWhileSending sends more than fits anywhere to an endpoint that is not served.
func deadlineWhileSending(r *room) {
	l := r.listen()
	ctx, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
	defer cancel()
	_, err := r.ask(ctx, l.Endpoint(), make([]byte, 8<<20))
	if !errors.Is(err, context.DeadlineExceeded) {
		r.Errorf("%v, want context.DeadlineExceeded", err)
	}
	r.named(err, l.Endpoint())
}

// tooLarge sends requests and answers up to the bound and beyond it.
func tooLarge(r *room) {
	limit := transport.LimitOf(r.Transport)
	if limit > 64<<20 {
		r.Skip("no bound up to 64 MiB")
	}
	var served atomic.Int32
	l := r.serve(func(req []byte, reply *transport.Reply) {
		served.Add(1)
		n := limit
		if string(req) == "more" {
			n++
		}
		reply.Parts = [][]byte{make([]byte, n)}
	})
	if got, err := r.ask(r.ctx, l.Endpoint(), make([]byte, limit)); err != nil || len(got) != limit {
		r.Errorf("at the bound of %d: %d bytes came back, %v", limit, len(got), err)
	}
	_, err := r.ask(r.ctx, l.Endpoint(), make([]byte, limit), []byte("1"))
	if !errors.Is(err, transport.ErrTooLarge) || served.Load() != 1 {
		r.Errorf("a request one over the bound: %v, want ErrTooLarge, and it was served: %v", err, served.Load() != 1)
	}
	r.named(err, l.Endpoint())
	_, err = r.ask(r.ctx, l.Endpoint(), []byte("more"))
	if !errors.Is(err, transport.ErrTooLarge) {
		r.Errorf("an answer one over the bound: %v, want ErrTooLarge", err)
	}
	r.named(err, l.Endpoint())
	if got, err := r.ask(r.ctx, l.Endpoint(), []byte("again")); err != nil || len(got) != limit {
		r.Errorf("the call after it: %d bytes, %v", len(got), err)
	}
}

// panics checks that a handler's panic, or the end of its goroutine, fails one call only.
func panics(r *room) {
	l := r.serve(func(req []byte, reply *transport.Reply) {
		switch string(req) {
		case "panic":
			panic("a handler of the exam panics")
		case "exit":
			runtime.Goexit()
		}
		echoes(req, reply)
	})
	for _, how := range []string{"panic", "fine", "exit", "fine"} {
		got, err := r.ask(r.ctx, l.Endpoint(), []byte(how))
		switch {
		case how == "fine" && (err != nil || got != how):
			r.Errorf("the call after it: %q, %v", got, err)
		case how != "fine" && (err == nil || errors.Is(err, transport.ErrUnreachable)):
			r.Errorf("%s: %v, want an error that does not say that nobody saw it", how, err)
		}
		r.named(err, l.Endpoint())
	}
}

// done counts the calls of Done: one for each answer, whatever happens to the answer.
func done(r *room) {
	calls := make(chan string, 100)
	entered, release := make(chan struct{}), make(chan struct{})
	l := r.serve(func(req []byte, reply *transport.Reply) {
		how := string(req)
		reply.Parts = [][]byte{make([]byte, 1<<20)}
		reply.Done = func() { calls <- how }
		switch how {
		case "panic":
			panic("a handler of the exam panics")
		case "cancel":
			close(entered)
			<-release
		}
	})
	for _, how := range []string{"send", "panic", "send", "panic"} {
		_, _ = r.ask(r.ctx, l.Endpoint(), []byte(how))
		if got := await(r, "Done of "+how, calls); got != how {
			r.Errorf("Done of %q was called again instead of that of %q", got, how)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	gone := make(chan struct{})
	go func() {
		_, _ = r.ask(ctx, l.Endpoint(), []byte("cancel"))
		close(gone)
	}()
	await(r, "the handler", entered)
	cancel()
	await(r, "the cancelled call", gone)
	close(release)
	if got := await(r, "Done of cancel", calls); got != "cancel" {
		r.Errorf("Done of %q instead of cancel", got)
	}
	if err := l.Close(r.ctx); err != nil {
		r.Error(err)
	}
	if len(calls) > 0 {
		r.Errorf("Done of %q was called twice", <-calls)
	}
}

// lent overwrites every slice as soon as it belongs to the exam again, and checks that no message still refers to it.
func lent(r *room) {
	entered, scribbled := make(chan struct{}, 1), make(chan struct{})
	seen := make(chan []byte, 1)
	l := r.serve(func(req []byte, reply *transport.Reply) {
		if string(req[:4]) == "hold" {
			entered <- struct{}{}
			<-scribbled
			seen <- append([]byte(nil), req...)
		}
		part := append([]byte(nil), req...)
		reply.Parts = [][]byte{part}
		reply.Done = func() { scribble(part) }
	})
	for _, n := range []int{10, 5000, 1 << 20} {
		req := append([]byte("send"), text(n, 7)...)
		want := string(req)
		got, err := r.ask(r.ctx, l.Endpoint(), req)
		scribble(req)
		if err != nil || got != want {
			r.Errorf("%d bytes: %d came back, changed by who got the slices back; %v", len(want), len(got), err)
		}
	}
	req := append([]byte("hold"), text(5000, 8)...)
	want := bytes.Clone(req)
	ctx, cancel := context.WithCancel(r.ctx)
	gone := make(chan struct{})
	go func() {
		_, _ = r.ask(ctx, l.Endpoint(), req)
		close(gone)
	}()
	await(r, "the handler", entered)
	cancel()
	await(r, "the cancelled call", gone)
	scribble(req)
	close(scribbled)
	if got := await(r, "what the handler saw", seen); !bytes.Equal(got, want) {
		r.Error("the handler saw its request change after Call had returned")
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] = 0xee
	}
}
