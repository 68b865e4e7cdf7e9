package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Listen implements [Transport].
func (f *FastHTTP) Listen(endpoint string) (Listener, error) {
	network, addr, err := bindAddress(endpoint, f.ListenAddr)
	if err != nil {
		return nil, fmt.Errorf("transport: listen %s: %w", endpoint, err)
	}
	config, err := f.serverTLS()
	if err != nil {
		return nil, fmt.Errorf("transport: listen %s: %w", endpoint, err)
	}
	if network == "unix" {
		config = nil
		sweep(addr)
	}
	lc := net.ListenConfig{Control: f.guard(config, addr)}
	ln, err := lc.Listen(context.Background(), network, addr)
	if err != nil {
		return nil, fmt.Errorf("transport: listen %s: %w", endpoint, bindError(addr, err))
	}
	if network == "unix" && !strings.HasPrefix(addr, "@") {
		if err := os.Chmod(addr, 0o600); err != nil {
			_ = ln.Close()
			return nil, fmt.Errorf("transport: listen %s: %w", endpoint, err)
		}
	}
	l := newListener(f, ln, config, named(endpoint, ln))
	f.warn(config, l.endpoint, ln.Addr())
	return l, nil
}

// listener is a bound endpoint of a FastHTTP. Each connection has a goroutine on which fasthttp reads requests and runs
// their handlers; Serve waits for all of them.
//
// It ends in three steps. Close closes the socket, so that no connection is added, and the connections on which no
// handler runs; a connection with a running handler closes itself when its answer is sent (connState); if ctx ends
// before that, Close cuts the rest too, and Serve returns when their handlers do. Serve has no time limit of its own:
// its caller waits for Close.
type listener struct {
	f        *FastHTTP
	ln       net.Listener
	tls      *tls.Config
	endpoint string
	server   fasthttp.Server
	handler  Handler
	screen   func(first []byte) error
	reads    Handler // for readers; nil if there are none

	complaints complaints
	rationed   atomic.Int64 // bytes of requests of connections that have not been served one
	readers    atomic.Int32 // number of readers' connections

	served  chan struct{} // closed when Serve has returned
	closing chan struct{} // closed by Close

	mu    sync.Mutex // guards the fields below
	once  bool       // Serve was called
	stop  bool       // Close was called
	conns map[*serverConn]struct{}
	wg    sync.WaitGroup
}

func newListener(f *FastHTTP, ln net.Listener, config *tls.Config, endpoint string) *listener {
	l := &listener{f: f, ln: ln, tls: config, endpoint: endpoint,
		served: make(chan struct{}), closing: make(chan struct{}), conns: make(map[*serverConn]struct{})}
	l.server = fasthttp.Server{
		Handler:                      l.serveRequest,
		ConnState:                    l.connState,
		StreamRequestBody:            true, // a request is judged before its body is read
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		ReadBufferSize:               headRoom,
		WriteBufferSize:              bufferSize,
		Concurrency:                  1 << 20,
		Logger:                       quiet{},
	}
	return l
}

// quiet drops fasthttp's log lines about broken connections: the callers' errors report the same.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (l *listener) Endpoint() string { return l.endpoint }

// Serve implements [Listener].
func (l *listener) Serve(h Handler) error {
	return l.ServeScreened(h, nil)
}

// ServeScreened is what [ServeScreened] calls.
func (l *listener) ServeScreened(h Handler, screen func(first []byte) error) error {
	l.mu.Lock()
	again, stopped := l.once, l.stop
	l.once = true
	l.mu.Unlock()
	if again {
		return fmt.Errorf("transport: serve %s: Serve was called already", l.endpoint)
	}
	defer close(l.served)
	if stopped {
		return nil
	}
	l.handler, l.screen = h, screen
	l.wg.Go(l.sweep)
	l.accept()
	l.wg.Wait()
	return nil
}

// accept starts a goroutine for each connection until the listener is closed.
func (l *listener) accept() {
	for {
		raw, err := l.ln.Accept()
		if err == nil {
			l.wg.Go(func() { l.serveConn(raw) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		l.f.logger().Error("transport: accept failed, trying again", "endpoint", l.endpoint, "error", err)
		select { // most likely there are too many open files: wait until some are closed
		case <-time.After(100 * time.Millisecond):
		case <-l.closing:
			return
		}
	}
}

// Close implements [Listener]. Connections between two requests are closed at once.
func (l *listener) Close(ctx context.Context) error {
	busy, serving := l.shut()
	if !serving {
		return nil
	}
	select {
	case <-l.served:
		return nil
	case <-ctx.Done():
	}
	for _, c := range busy {
		_ = c.raw.Close()
	}
	select {
	case <-l.served:
		return nil
	default:
		return fmt.Errorf("transport: close %s: handlers still run: %w", l.endpoint, ended(ctx))
	}
}

// shut frees the endpoint and closes the connections without a running handler. It returns the others.
func (l *listener) shut() (busy []*serverConn, serving bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stop {
		l.stop = true
		close(l.closing)
		_ = l.ln.Close()
	}
	for c := range l.conns {
		if !c.retire() {
			busy = append(busy, c)
		}
	}
	return busy, l.once
}
