package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/proc"
)

// FastHTTP carries each request as one HTTP/1.1 POST, over TCP ("host:port") or a unix socket ("unix:/path"). Its zero
// value works between processes of one machine; use it by pointer and do not copy it.
//
// # Security
//
// Without TLS it listens on and calls loopback addresses and unix sockets only. To reach other machines, choose one of:
//   - TLSDir alone: TLS 1.3, and both sides show a certificate that the directory's ca.pem signed;
//   - TLSDir and Token: TLS 1.3, the server shows a certificate, the client the token;
//   - TLS: the same two, with a configuration of your own;
//   - Insecure: plaintext, for networks that are closed by other means.
//
// With TLS, every TCP connection uses it, loopback too, and the server's certificate must name the host of the endpoint
// that is called. Unix sockets never do: their file is open to its owner alone. A token is checked wherever it is set.
type FastHTTP struct {
	// MaxMessage bounds a request and an answer, in bytes. 0 means 1 GiB.
	MaxMessage int
	// MaxInFlight bounds the bytes of requests over 64 KiB that are in flight to one endpoint, or read and handled by
	// the listeners. Requests beyond it wait: a call, in its turn, until ctx ends; a request that was sent stays unread
	// for at most StallTimeout, which blocks its sender. Requests held by handlers count too, such as those of a round
	// that waits for its last worker, so a server's bound must exceed the requests of all workers together. Messages
	// decoded by Compressed have a separate bound of the same size. 0 means a quarter of the memory that the process
	// may use by GOMEMLIMIT or its control group, and 4 GiB if neither is set.
	MaxInFlight int64
	// IdleConns is how many connections to a server stay open between calls. Calls in flight are not limited by it:
	// each has a connection of its own. 0 means 16.
	IdleConns int
	// DialTimeout bounds name resolution, connection and TLS handshake together. 0 means 5 s; ctx may end it sooner.
	DialTimeout time.Duration
	// StallTimeout is how long a client may take for 64 MiB of a request, or of an answer over 1 MiB. After that, or at
	// most twice that, its connection is closed, so that a client that stopped sending or reading does not hold memory
	// forever. The head of a request may take as long, and so may the first 64 KiB of its body, before memory is
	// reserved for the rest; connections that have not been served a request yet share 64 MiB for such bytes. 0 means
	// 60 s.
	StallTimeout time.Duration
	// IdleTimeout is how long, at most twice as long, a listener keeps a connection without requests. A client detects
	// a closed connection before it uses it again. 0 means 10 min.
	IdleTimeout time.Duration
	// MaxConns is how many connections a listener has at a time. A further connection replaces one that has not been
	// served a request yet, or is refused if there is none. A job has as many connections as its workers make
	// concurrent calls. 0 means 8192.
	MaxConns int
	// ListenAddr is the address to which a listener binds if it differs from the endpoint that others call: behind a
	// service's address, NAT or a published port. It is "host:port", a host alone (with the endpoint's port), ":port"
	// (on every address) or "unix:/path"; "" means the endpoint.
	ListenAddr string
	// Checksum makes [Compressed] add checksums to all messages, even if TLS protects them or they stay on this
	// machine, for instance because a tunnel begins at a loopback address.
	Checksum bool
	// TLSDir is a directory with ca.pem, cert.pem and key.pem, or a Secret's with ca.crt, tls.crt and tls.key, which
	// are read again when they change. A client that has a Token may lack the last two.
	TLSDir string
	// TLS is used instead of TLSDir, for clients and listeners. Below version 1.3 it is raised to it. A listener wants
	// Certificates, and either ClientAuth = RequireAndVerifyClientCert or a Token.
	TLS *tls.Config
	// Token is a secret that client and server share.
	Token string
	// ReadToken is a secret shared with readers outside the job, which may only read what a server permits
	// ([HandleReads]). It has at least 16 bytes and differs from Token. With TLS it also needs a Token, since
	// certificates alone would give readers the rights of workers. "" means no readers.
	ReadToken string
	// Cluster names the job or cluster, so that a process of another one, for example with an outdated list of servers,
	// is refused. It must be the same on both sides; empty is a name like any other.
	Cluster string
	// Insecure allows plaintext beyond this machine. Anyone on that network can read weights, the token and the keys of
	// the job's processes, and can impersonate any of them. Only TLS prevents that.
	Insecure bool
	// Logger receives panics of handlers and refused connections. nil means slog.Default().
	Logger *slog.Logger

	reads   bool // it calls as a reader
	loadTLS sync.Once
	tls     *tls.Config   // nil for plaintext, and with files
	files   *certificates // of TLSDir
	tlsErr  error
	idle    idlePool

	calls  callMeter
	serves serveMeter
	room   budget // of listeners
	rooms  rooms  // of calls
}

// MessageLimit is an optional method of [Transport].
func (f *FastHTTP) MessageLimit() int { return orDefault(f.MaxMessage, defaultMaxMessage) }

// Stats implements [Metered].
func (f *FastHTTP) Stats() (s Stats) {
	count.Fill(&s, &f.calls, &f.serves)
	return s
}

// CloseIdleConnections implements [IdleCloser].
func (f *FastHTTP) CloseIdleConnections() { f.idle.closeAll() }

// Guards is an optional method of [Transport].
func (f *FastHTTP) Guards(endpoint string) bool {
	return !f.Checksum && (f.TLS != nil || f.TLSDir != "" || staysHere(endpoint))
}

func (f *FastHTTP) dialTimeout() time.Duration { return orDefault(f.DialTimeout, 5*time.Second) }

func (f *FastHTTP) stallTimeout() time.Duration { return orDefault(f.StallTimeout, time.Minute) }

func (f *FastHTTP) idleTimeout() time.Duration { return orDefault(f.IdleTimeout, 10*time.Minute) }

func (f *FastHTTP) maxConns() int { return orDefault(f.MaxConns, 8192) }

func (f *FastHTTP) logger() *slog.Logger {
	if f.Logger != nil {
		return f.Logger
	}
	return slog.Default()
}

func (f *FastHTTP) maxInFlight() int64 {
	if f.MaxInFlight > 0 {
		return f.MaxInFlight
	}
	return defaultInFlight()
}

// defaultInFlight is a quarter of the memory, since received and decoded bytes have separate bounds, and bytes that a
// handler has finished with are garbage for a while.
var defaultInFlight = sync.OnceValue(func() int64 {
	return inFlight(debug.SetMemoryLimit(-1), proc.MemoryLimit())
})

// inFlight computes it from the limits of the runtime and of the system, math.MaxInt64 and 0 if they are not set.
func inFlight(runtime, system int64) int64 {
	limit := runtime
	if system > 0 {
		limit = min(limit, system)
	}
	if limit == math.MaxInt64 {
		return 4 << 30
	}
	return limit / 4
}

// Call implements [Transport].
func (f *FastHTTP) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	size := sizeOf(req)
	f.calls.enter(size)
	body, err := f.send(ctx, endpoint, req, size)
	f.calls.end(size, err)
	if err != nil {
		return failed(endpoint, err)
	}
	defer body.release()
	f.calls.sent.Add(int64(size))
	f.calls.received.Add(int64(len(body.B)))
	return read(body.B)
}

// send makes a call within the bounds.
func (f *FastHTTP) send(ctx context.Context, endpoint string, req [][]byte, size int) (*buffer, error) {
	if limit := f.MessageLimit(); size > limit {
		return nil, oversize("request", size, limit)
	}
	room, err := f.enter(ctx, endpoint, size)
	if err != nil {
		return nil, err
	}
	body, err := f.exchange(ctx, endpoint, req, size)
	if room != nil {
		room.give(size, f.maxInFlight())
	}
	if err != nil {
		return nil, f.explain(ctx, err)
	}
	return body, nil
}

// exchange makes one round trip on a connection that no other call uses.
func (f *FastHTTP) exchange(ctx context.Context, endpoint string, req [][]byte, size int) (*buffer, error) {
	c, err := f.connect(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	c.watch(ctx)
	body, err := c.roundTrip(req, size, f.MessageLimit())
	c.leave()
	if c.broken || !f.idle.put(endpoint, c, orDefault(f.IdleConns, 16)) {
		c.close()
	}
	return body, err
}

// connect takes an idle connection that is still good, or dials.
func (f *FastHTTP) connect(ctx context.Context, endpoint string) (*clientConn, error) {
	if ctx.Err() != nil {
		return nil, ErrUnreachable
	}
	for c := f.idle.get(endpoint); c != nil; c = f.idle.get(endpoint) {
		if c.alive() {
			return c, nil
		}
		c.close()
	}
	return f.dial(ctx, endpoint)
}

// explain replaces the connection's error by the end of ctx, if that is the reason.
func (f *FastHTTP) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrTooLarge):
		return err
	case errors.Is(err, ErrUnreachable):
		return fmt.Errorf("%w: %w", ErrUnreachable, ended(ctx))
	}
	return ended(ctx)
}
