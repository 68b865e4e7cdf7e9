package transport

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gofleet/gofleet/transport/codec"
)

// Readers are processes outside a job that read from it. They have a token of their own, which opens only the path of
// readers, and requests by that path go to a handler of their own: no request of the job's protocol can be made with
// it.

// Readable is an optional interface of a [Transport] whose listeners accept readers. [FastHTTP] and [Memory] implement
// it.
type Readable interface {
	// Reader returns a transport that calls the same listeners as a reader with this token.
	Reader(token string) Transport
}

// HandleReads makes h answer requests of readers, if l has such a method and its transport a token for them. Call it
// before Serve; without it all readers are refused. The listeners of [FastHTTP] and [Memory], and of [Compressed]
// around them, have the method.
func HandleReads(l Listener, h Handler) {
	if r, ok := l.(interface{ HandleReads(h Handler) }); ok {
		r.HandleReads(h)
	}
}

const (
	readSuffix = "/read"
	readPath   = requestPath + readSuffix
	// readRequest is the most bytes of a reader's request.
	readRequest = 64 << 10
	// readPatience is how long a reader has to take an answer.
	readPatience = time.Second
	// shortestReadToken is the fewest bytes of a reader's token.
	shortestReadToken = 16
)

func wrongToken(reads bool) string {
	if reads {
		return "wrong token, or nothing is read here; set the same FLEET_READ_TOKEN on servers and readers"
	}
	return "wrong token; set the same FLEET_TOKEN on both sides"
}

// Reader implements [Readable].
func (f *FastHTTP) Reader(token string) Transport {
	return &FastHTTP{MaxMessage: f.MaxMessage, MaxInFlight: f.MaxInFlight, IdleConns: f.IdleConns,
		DialTimeout: f.DialTimeout, StallTimeout: f.StallTimeout, Checksum: f.Checksum, TLSDir: f.TLSDir, TLS: f.TLS,
		Cluster: f.Cluster, Insecure: f.Insecure, Logger: f.Logger, Token: token, reads: true}
}

// path is the path of this process's requests.
func (f *FastHTTP) path() string {
	if f.reads {
		return readPath
	}
	return requestPath
}

// checkReadToken returns an error if the readers' token is not valid.
func (f *FastHTTP) checkReadToken() error {
	const what = "FLEET_READ_TOKEN (FastHTTP.ReadToken)"
	switch n := len(f.ReadToken); {
	case n == 0:
		return nil
	case n < shortestReadToken:
		return fmt.Errorf("%w: %s has %d bytes, and needs %d or more", ErrRefused, what, n, shortestReadToken)
	case strings.ContainsAny(f.ReadToken, "\r\n"):
		return fmt.Errorf("%w: %s has a line break, which no request can carry", ErrRefused, what)
	case f.ReadToken == f.Token:
		return fmt.Errorf("%w: %s is the job's own FLEET_TOKEN, which makes a worker of each reader: choose another",
			ErrRefused, what)
	}
	return nil
}

// HandleReads is what [HandleReads] calls.
func (l *listener) HandleReads(h Handler) { l.reads = h }

// isRead reports whether a path is one of readers, of any version of the protocol.
func isRead(uri []byte) bool { return bytes.HasSuffix(uri, []byte(readSuffix)) }

// admitsToken reports whether a token opens a path: the readers' token opens the readers' path only, and the job's
// token the other paths.
func (l *listener) admitsToken(token []byte, reads bool) bool {
	f := l.f
	reader := f.ReadToken != "" && sameToken(token, f.ReadToken)
	if reads {
		return reader && l.reads != nil
	}
	return !reader && (f.Token == "" || sameToken(token, f.Token))
}

// beReader makes the connection a reader's. At most an eighth of all connections are readers': the rest are kept for
// the job.
func (c *serverConn) beReader() bool {
	if !c.reader && c.l.readers.Add(1) > int32(max(1, c.l.f.maxConns()/8)) {
		c.l.readers.Add(-1)
		return false
	}
	c.reader = true
	return true
}

// crowdOfReaders is the refusal of a reader for whom there is no connection left.
func (l *listener) crowdOfReaders() *refusal {
	return &refusal{fasthttp.StatusServiceUnavailable, &l.f.serves.busy, fmt.Sprintf("readers have %d connections "+
		"already: come again later", l.readers.Load())}
}

// HandleReads is what [HandleReads] calls. What readers send is small, encoded with any codec, and not larger when it
// is decoded; answers are not encoded.
func (l *compressedListener) HandleReads(h Handler) {
	none, _ := codec.ByName("none") // there is one
	plain := &compressed{t: l.z.t, limit: l.z.limit, codec: none}
	HandleReads(l.Listener, func(req []byte, reply *Reply) { plain.handle(l.Endpoint(), h, nil, req, reply) })
}

// memoryReader calls a Memory as a reader.
type memoryReader struct {
	*Memory
	token string
}

// Reader implements [Readable].
func (m *Memory) Reader(token string) Transport { return memoryReader{m, token} }

// HandleReads is what [HandleReads] calls.
func (l *memoryListener) HandleReads(h Handler) { l.reads = h }

// by returns the handler for a call: the readers' handler if reader is not nil.
func (l *memoryListener) by(reader *memoryReader, size int) (Handler, error) {
	switch {
	case reader == nil:
		return l.handler, nil
	case l.reads == nil || l.net.ReadToken == "" || reader.token != l.net.ReadToken:
		return nil, fmt.Errorf("%w: %s", ErrRefused, wrongToken(true))
	case size > readRequest:
		return nil, oversize("request", size, readRequest)
	}
	return l.reads, nil
}
