package transport

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	bufferSize = 64 << 10
	textLimit  = 4 << 10 // bytes of an error's text
)

// clientConn is a connection that one call at a time uses: from the idle pool or a dial until the call puts it back or
// closes it. Headers are made once and written again for every request.
//
// A connection is reused only if it is known to be between two messages: the request was sent whole and the answer read
// whole. Anything else (an error, an answer without length, a context that ended meanwhile) makes it broken. The
// contract's distinction follows from that too: an error of send means that the server never had the whole request, and
// so did not run its handler (ErrUnreachable); after an error later on, it may have.
type clientConn struct {
	net.Conn
	br     *bufio.Reader
	bw     *bufio.Writer
	head   fasthttp.RequestHeader
	answer fasthttp.ResponseHeader

	probe  probe
	broken bool        // must not be used again
	stop   func() bool // ends the watch

	mu      sync.Mutex      // guards the fields below
	watched <-chan struct{} // Done of the context of the last call
	calling bool            // that call is under way
	aborted bool            // the connection is broken
}

// newClientConn prepares conn for requests of f; raw is the socket below it.
func newClientConn(conn, raw net.Conn, f *FastHTTP) *clientConn {
	c := &clientConn{
		Conn: conn,
		br:   bufio.NewReaderSize(conn, bufferSize),
		bw:   bufio.NewWriterSize(conn, bufferSize),
		stop: func() bool { return true },
	}
	c.probe.watch(raw)
	c.answer.SetNoDefaultContentType(true) // gofleet's servers send none
	c.head.SetMethod(fasthttp.MethodPost)
	c.head.SetRequestURI(f.path())
	c.head.SetHost("gofleet")
	c.head.SetUserAgent("gofleet")
	c.head.SetContentType(contentType)
	if f.Token != "" {
		c.head.Set(fasthttp.HeaderAuthorization, bearer(f.Token))
	}
	if f.Cluster != "" {
		c.head.Set(clusterHeader, f.Cluster)
	}
	return c
}

func (c *clientConn) close() {
	c.stop()
	_ = c.Conn.Close()
}

// alive reports whether the server has kept the idle connection open and silent.
func (c *clientConn) alive() bool { return c.br.Buffered() == 0 && c.probe.quiet() }

// watch makes the end of ctx abort the connection until leave is called. It needs no goroutine unless ctx does end, and
// next to no time if ctx is that of the call before, whose end is still watched for.
func (c *clientConn) watch(ctx context.Context) {
	done := ctx.Done()
	c.mu.Lock()
	before := c.watched
	c.watched, c.calling = done, true
	c.mu.Unlock()
	if done != before {
		c.stop()
		c.stop = context.AfterFunc(ctx, func() { c.abort(done) })
	} else if ctx.Err() != nil { // perhaps before this call began
		c.abort(done)
	}
}

// abort makes a call that blocks on the connection return, unless the call with the context of done is over.
func (c *clientConn) abort(done <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calling && c.watched == done {
		c.aborted = true
		_ = c.SetDeadline(time.Unix(1, 0))
	}
}

// leave ends the call.
func (c *clientConn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calling = false
	c.broken = c.broken || c.aborted
}

// roundTrip sends a request and reads its answer. After an error the connection is broken; after an answer, even a
// refusal, it is not.
func (c *clientConn) roundTrip(req [][]byte, size, limit int) (*buffer, error) {
	if err := c.send(req, size); err != nil {
		c.broken = true
		return nil, c.sendError(err)
	}
	if err := c.receive(); err != nil {
		c.broken = true
		return nil, err
	}
	n := c.answer.ContentLength()
	c.broken = c.broken || c.answer.ConnectionClose() || n < 0
	switch status := c.answer.StatusCode(); {
	case len(c.answer.ContentType()) > 0:
		c.broken = true
		return nil, c.foreign(status, n)
	case status != fasthttp.StatusOK:
		return nil, c.refusal(status, n)
	}
	return c.body(n, limit)
}

func (c *clientConn) send(req [][]byte, size int) error {
	c.head.SetContentLength(size)
	if err := c.head.Write(c.bw); err != nil {
		return err
	}
	for _, part := range req {
		if _, err := c.bw.Write(part); err != nil {
			return err
		}
	}
	return c.bw.Flush()
}

// receive reads the head of the answer. It waits for the first byte itself, since fasthttp turns every error there into
// EOF.
func (c *clientConn) receive() error {
	_, err := c.br.Peek(1)
	if err == nil {
		err = c.answer.Read(c.br)
	}
	if err == nil {
		return nil
	}
	err = readError(err)
	if begin, _ := c.br.Peek(min(c.br.Buffered(), len("HTTP/"))); len(begin) > 0 && string(begin) != "HTTP/" {
		line, _ := c.br.Peek(min(c.br.Buffered(), lineLimit))
		err = fmt.Errorf("is this a gofleet server? It answered %q: %w", firstLine(line), err)
	}
	return err
}

// foreign describes what answered in place of a gofleet server, in one line. The answer of a proxy whose server is not
// up yet is no refusal: the server may come.
func (c *clientConn) foreign(status, n int) error {
	said := string(c.answer.ContentType())
	if text, _ := c.br.Peek(min(max(n, 0), lineLimit)); strings.HasPrefix(said, "text/plain") && len(text) > 0 {
		said = fmt.Sprintf("%q", firstLine(text))
	}
	err := fmt.Errorf("not a gofleet server: it answered %d %s, %s; look at the list of servers",
		status, fasthttp.StatusMessage(status), said)
	switch status {
	case fasthttp.StatusBadGateway, fasthttp.StatusServiceUnavailable, fasthttp.StatusGatewayTimeout:
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

const lineLimit = 80 // of a stranger's answer

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(line)
}

func (c *clientConn) body(n, limit int) (*buffer, error) {
	if n < 0 {
		return nil, errors.New("the answer has no length; is this a gofleet server?")
	}
	if n > limit {
		c.broken = true
		return nil, oversize("answer", n, limit)
	}
	body, err := readBuffer(c.br, n)
	if err != nil {
		c.broken = true
		return nil, fmt.Errorf("the connection broke inside the answer: %w", err)
	}
	return body, nil
}

// sendError explains why a request could not be sent whole. A handler starts only when it has all of it. If the server
// closed the connection, its reason may be readable.
func (c *clientConn) sendError(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		_, readErr := c.br.Peek(1)
		if refusal := tlsRefusal(readErr); refusal != nil {
			return refusal
		}
	}
	return fmt.Errorf("%w: the connection broke before the request was sent whole: %w", ErrUnreachable, err)
}

func readError(err error) error {
	if refusal := tlsRefusal(err); refusal != nil {
		return refusal
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the connection broke before the answer; the request may have been served: %w", err)
}

// refusal reads the text of an answer with an error status, and returns it as an error.
func (c *clientConn) refusal(status, n int) error {
	text := make([]byte, min(max(n, 0), textLimit))
	if _, err := io.ReadFull(c.br, text); err != nil || len(text) != n {
		c.broken = true
	}
	switch status {
	case fasthttp.StatusRequestEntityTooLarge, fasthttp.StatusInsufficientStorage:
		return fmt.Errorf("%w: %s", ErrTooLarge, text)
	case fasthttp.StatusServiceUnavailable:
		return fmt.Errorf("%w: %w: %s", ErrBusy, ErrUnreachable, text)
	case fasthttp.StatusInternalServerError:
		return fmt.Errorf("the server answers: %s", text)
	}
	return fmt.Errorf("%w: status %d: %s", ErrRefused, status, text)
}

func bearer(token string) string { return "Bearer " + token }

func sameToken(got []byte, want string) bool {
	return subtle.ConstantTimeCompare(got, []byte(bearer(want))) == 1
}
