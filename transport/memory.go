package transport

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/gofleet/gofleet/internal/count"
)

// Memory is a network inside one process: listeners on it can be called through it, by any name. Requests and answers
// are copied, never shared. It starts only one goroutine for each running handler and uses neither clock nor sockets,
// so it works inside a testing/synctest bubble. The zero value is an empty network.
type Memory struct {
	// MaxMessage bounds a request and an answer, in bytes. 0 means 1 GiB.
	MaxMessage int
	// ReadToken is as FastHTTP's, of any length.
	ReadToken string

	mu        sync.Mutex
	listeners map[string]*memoryListener
	lastPort  int

	calls  callMeter
	serves serveMeter
}

// NewMemory returns an empty network.
func NewMemory() *Memory { return &Memory{} }

// MessageLimit is an optional method of [Transport].
func (m *Memory) MessageLimit() int { return orDefault(m.MaxMessage, defaultMaxMessage) }

// Stats implements [Metered].
func (m *Memory) Stats() (s Stats) {
	count.Fill(&s, &m.calls, &m.serves)
	return s
}

// Guards is an optional method of [Transport]: memory does not change messages.
func (m *Memory) Guards(string) bool { return true }

// Listen implements [Transport]. Any name is an endpoint; one that ends in ":0" gets a number of its own.
func (m *Memory) Listen(endpoint string) (Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if endpoint == "" {
		return nil, fmt.Errorf("transport: listen: empty endpoint; give a name such as \"server-0:1\"")
	}
	endpoint = m.fresh(endpoint)
	if m.listeners[endpoint] != nil {
		return nil, fmt.Errorf("transport: listen %s: somebody listens there already", endpoint)
	}
	if m.listeners == nil {
		m.listeners = make(map[string]*memoryListener)
	}
	l := newMemoryListener(m, endpoint)
	m.listeners[endpoint] = l
	return l, nil
}

// fresh replaces port 0 by a port that was never used.
func (m *Memory) fresh(endpoint string) string {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || port != "0" {
		return endpoint
	}
	for {
		m.lastPort++
		if name := net.JoinHostPort(host, strconv.Itoa(m.lastPort)); m.listeners[name] == nil {
			return name
		}
	}
}

func (m *Memory) find(endpoint string) *memoryListener {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listeners[endpoint]
}

func (m *Memory) forget(l *memoryListener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listeners[l.endpoint] == l {
		delete(m.listeners, l.endpoint)
	}
}

// Call implements [Transport].
func (m *Memory) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	return m.call(ctx, nil, endpoint, req, read)
}

// Call implements [Transport].
func (r memoryReader) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	return r.call(ctx, &r, endpoint, req, read)
}

// call is a call of a reader, or of the job for nil.
func (m *Memory) call(ctx context.Context, by *memoryReader, endpoint string, req [][]byte,
	read func([]byte) error) error {
	size := sizeOf(req)
	m.calls.enter(size)
	answer, err := m.send(ctx, by, endpoint, req, size)
	m.calls.end(size, err)
	if err != nil {
		return failed(endpoint, err)
	}
	defer answer.release()
	m.calls.sent.Add(int64(size))
	m.calls.received.Add(int64(len(answer.B)))
	return read(answer.B)
}

func (m *Memory) send(ctx context.Context, by *memoryReader, endpoint string, req [][]byte, size int) (*buffer, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, ended(ctx))
	}
	if limit := m.MessageLimit(); size > limit {
		return nil, oversize("request", size, limit)
	}
	l := m.find(endpoint)
	if l == nil {
		return nil, fmt.Errorf("%w: nobody listens there", ErrUnreachable)
	}
	return l.deliver(ctx, by, join(req, size))
}
