package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// memoryListener is an endpoint of a Memory. A call waits for ready, counts itself into running, and gets a goroutine
// for its handler.
//
// The handler has a goroutine of its own so that a call can return when its context ends, as on a socket, while the
// handler runs on: the server may then serve a request whose caller has left, which callers must allow for on any
// transport. The request is copied for the same reason. The goroutine releases the copy; the answer's buffer belongs to
// the caller if the call still waits, else to the garbage collector.
type memoryListener struct {
	net      *Memory
	endpoint string
	ready    chan struct{} // closed when Serve has set handler
	closed   chan struct{} // closed by Close

	mu      sync.Mutex // guards the fields below
	handler Handler
	reads   Handler // for readers; nil for none
	closing bool
	running int
	idle    chan struct{} // set while Close waits; closed when running reaches 0
}

func newMemoryListener(m *Memory, endpoint string) *memoryListener {
	return &memoryListener{net: m, endpoint: endpoint, ready: make(chan struct{}), closed: make(chan struct{})}
}

func (l *memoryListener) Endpoint() string { return l.endpoint }

func (l *memoryListener) Serve(h Handler) error {
	l.mu.Lock()
	if l.handler != nil {
		l.mu.Unlock()
		return fmt.Errorf("transport: serve %s: Serve was called already", l.endpoint)
	}
	l.handler = h
	close(l.ready)
	l.mu.Unlock()
	<-l.closed
	return nil
}

// Close implements [Listener].
func (l *memoryListener) Close(ctx context.Context) error {
	l.net.forget(l)
	select {
	case <-l.stop():
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Errorf("transport: close %s: %d handlers still run: %w", l.endpoint, l.running, ended(ctx))
	}
}

// stop makes new calls fail and returns a channel that closes when the last handler has ended.
func (l *memoryListener) stop() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.closing = true
		l.idle = make(chan struct{})
		close(l.closed)
		l.settle()
	}
	return l.idle
}

// settle closes idle, for which Close waits, when no handler runs any more; l.mu is held.
func (l *memoryListener) settle() {
	if l.closing && l.running == 0 {
		close(l.idle)
	}
}

type memoryAnswer struct {
	body *buffer
	err  error
}

// deliver passes a request to the handler and waits for its answer. It takes ownership of the buffer.
func (l *memoryListener) deliver(ctx context.Context, by *memoryReader, req *buffer) (*buffer, error) {
	h, err := l.enter(ctx, by, len(req.B))
	if err != nil {
		req.release()
		return nil, err
	}
	answer := make(chan memoryAnswer, 1)
	size := len(req.B)
	l.net.serves.enter(size)
	go func() {
		a := memoryAnswer{err: errPanicked} // the result of a handler that ends its goroutine
		defer func() {
			req.release()
			l.net.serves.end(size)
			answer <- a
			l.leave()
		}()
		a.body, a.err = l.handle(h, req.B)
	}()
	select {
	case a := <-answer:
		return a.body, a.err
	case <-ctx.Done():
		return nil, ended(ctx)
	}
}

// enter waits until the endpoint is served and counts the caller as running.
func (l *memoryListener) enter(ctx context.Context, by *memoryReader, size int) (Handler, error) {
	select {
	case <-l.ready:
	case <-l.closed:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: nobody serves there yet: %w", ErrUnreachable, ended(ctx))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, fmt.Errorf("%w: it was closed", ErrUnreachable)
	}
	h, err := l.by(by, size)
	if err == nil {
		l.running++
	}
	return h, err
}

func (l *memoryListener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.settle()
}

// handle runs the handler and copies its answer.
func (l *memoryListener) handle(h Handler, req []byte) (*buffer, error) {
	var reply Reply
	defer reply.done()
	err := safely(h, req, &reply, slog.Default(), l.endpoint)
	if err != nil {
		return nil, err
	}
	size := sizeOf(reply.Parts)
	if limit := l.net.MessageLimit(); size > limit {
		return nil, oversize("answer", size, limit)
	}
	l.net.serves.answered(len(req), size)
	return join(reply.Parts, size), nil
}

var errPanicked = errors.New("the handler panicked; the server's log has the stack")

// safely runs a handler; a panic in it is logged and returned as an error.
func safely(h Handler, req []byte, reply *Reply, log *slog.Logger, endpoint string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("transport: handler panicked", "endpoint", endpoint, "panic", p, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	h(req, reply)
	return nil
}

// done calls Done if it is set, and only once.
func (r *Reply) done() {
	if done := r.Done; done != nil {
		r.Done = nil
		done()
	}
}
