package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// serverConn is a connection that a listener serves, with the answer in the making. On one goroutine fasthttp reads a
// request, runs its handler and writes the answer, and then the next; others use state and raw alone, to close it.
//
// From admission until the answer has been written the connection holds three things: room in the listener's budget,
// the request's buffer, which the handler and the answer's parts may alias, and the reply. finish gives all three back,
// whatever way a request ends, and may be called when nothing is held. So nothing that a client does, or leaves undone,
// keeps memory.
//
// Deadlines are on the raw socket and are set only where a client may dawdle: while it sends the head of its first
// request or a head in pieces (press), while a large body arrives (read), and while it takes a large answer (hurry).
// Small requests on a connection that works pay for none.
type serverConn struct {
	net.Conn // raw, or TLS over it
	raw      net.Conn
	l        *listener
	state    atomic.Int32
	reply    Reply
	req      *buffer
	size     int          // of the answer
	rationed atomic.Int64 // bytes of a first request
	room     int          // charged for the request; negative for none
	reads    int          // since the last answer, until there is a whole head
	pressed  bool         // it has to finish a head in time
	served   atomic.Bool  // it has had an answer that was no refusal
	over     atomic.Bool  // it was closed, and not by the listener
	reader   bool         // a reader has asked by it
	broken   func() bool  // isBroken, bound once
	used     atomic.Bool  // since the listener last looked
	stall    time.Duration
	deadline time.Time // of writing; zero until there was a large answer
}

// Who changes state from connIdle has the connection: serveRequest, which runs a handler, or the listener, which closes
// it. So a request whose handler has begun is answered even while the listener closes, and one that was still being
// read is not begun.
const (
	connIdle    int32 = iota // between requests, or still reading one
	connBusy                 // from the start of a handler until its answer is sent
	connRetired              // closed by the listener
)

// retire closes the connection unless a handler runs on it.
func (c *serverConn) retire() bool {
	if !c.state.CompareAndSwap(connIdle, connRetired) {
		return false
	}
	_ = c.raw.Close()
	return true
}

// serveConn serves one connection until either side closes it.
func (l *listener) serveConn(raw net.Conn) {
	defer raw.Close()
	tune(raw)
	c := &serverConn{Conn: raw, raw: raw, l: l, room: -1, stall: l.f.stallTimeout()}
	c.broken = c.isBroken
	c.use()
	if !l.enlist(c) {
		return
	}
	defer l.remove(c)
	defer func() { c.over.Store(c.state.Load() != connRetired) }()
	if l.tls != nil {
		secured, err := l.shakeHands(raw)
		if err != nil {
			return
		}
		c.Conn = secured
	}
	c.press() // until its first request is let in
	defer c.finish()
	_ = l.server.ServeConn(c) // its error is the client's, who has been told or is gone
}

// isBroken says whether the client's side has ended the connection, which is not read while a handler runs.
func (c *serverConn) isBroken() bool { return c.over.Load() || endedByPeer(c.raw) }

// Read hurries a client that sends the head of a request in pieces: nearly all arrive whole.
func (c *serverConn) Read(p []byte) (int, error) {
	c.reads++
	if c.reads == 2 {
		c.press()
	}
	return c.Conn.Read(p)
}

// Write ends a connection that can't be written to: TLS would try for 5 s to say goodbye on it.
func (c *serverConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		_ = c.raw.Close()
	}
	return n, err
}

// press ends the connection unless a request is let in within StallTimeout.
func (c *serverConn) press() {
	if !c.pressed {
		c.pressed = true
		_ = c.raw.SetReadDeadline(time.Now().Add(c.stall))
	}
}

// relax says that what had to come in time has come: a head, or with its first bytes the body, for which the next read
// presses again.
func (c *serverConn) relax() {
	c.reads = 1
	if c.pressed {
		c.pressed = false
		_ = c.raw.SetReadDeadline(time.Time{})
	}
}

// shakeHands secures a connection. A client that is refused is sent the reason, and its data is drained so that it
// reads it.
func (l *listener) shakeHands(raw net.Conn) (net.Conn, error) {
	_ = raw.SetDeadline(time.Now().Add(l.f.dialTimeout()))
	secured := tls.Server(raw, l.tls)
	err := secured.Handshake()
	if err == nil {
		_ = raw.SetDeadline(time.Time{})
		return secured, nil
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		l.stranger(err).Add(1)
		l.f.logger().Warn("transport: connection refused", "endpoint", l.endpoint, "from", raw.RemoteAddr().String(),
			"error", err)
	}
	linger(raw, err)
	return nil, err
}

// stranger is what a failed handshake counts as.
func (l *listener) stranger(err error) *tally {
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return &l.f.serves.plaintext
	}
	return &l.f.serves.certificate
}

func linger(raw net.Conn, err error) {
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil {
		const text = "this server speaks TLS; set FLEET_TLS_DIR" + probesGo
		_, _ = fmt.Fprintf(raw, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			len(text), text)
	}
	if half, ok := raw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		_, _ = io.Copy(io.Discard, raw)
	}
}

// serveRequest judges a request by its header, reads its body, runs the handler and leaves the answer to be sent.
func (l *listener) serveRequest(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*serverConn)
	c.use()
	defer func() { _ = c.hurry() }() // for answers that do not come from WriteTo
	n := ctx.Request.Header.ContentLength()
	if r := l.judge(&ctx.Request.Header, n); r != nil {
		l.refuse(ctx, n, r)
		return
	}
	handler := l.handler
	if isRead(ctx.Request.Header.RequestURI()) {
		if !c.beReader() {
			ctx.SetConnectionClose()
			l.refuse(ctx, n, l.crowdOfReaders())
			return
		}
		handler = l.reads
	}
	c.relax()
	refused, err := c.read(ctx.RequestBodyStream(), n)
	if refused != nil {
		c.finish()
		l.refuse(ctx, n, refused)
		return
	}
	if err != nil || !c.state.CompareAndSwap(connIdle, connBusy) {
		c.finish()
		ctx.SetConnectionClose()
		say(ctx, fasthttp.StatusServiceUnavailable, "the server is closing, or the request did not arrive in time")
		return
	}
	c.reply.Broken, c.reply.First = c.broken, !c.served.Load()
	if err := safely(handler, c.req.B, &c.reply, l.f.logger(), l.endpoint); err != nil {
		c.finish()
		say(ctx, fasthttp.StatusInternalServerError, err.Error())
		return
	}
	c.size = sizeOf(c.reply.Parts)
	if limit := l.f.MessageLimit(); c.size > limit {
		c.finish()
		say(ctx, fasthttp.StatusInsufficientStorage, oversize("answer", c.size, limit).Error())
		return
	}
	l.f.serves.answered(n, c.size)
	if c.reply.Stranger {
		ctx.SetConnectionClose()
	} else if !c.served.Load() {
		c.served.Store(true)
	}
	ctx.SetBodyStream((*answer)(c), c.size)
}

// read reads a request. Its first bytes come before it is given room: who announces much and sends little takes none
// from others, and a large request is judged by them where there is somebody who can. Then it must keep a pace, for it
// holds what others wait for.
func (c *serverConn) read(body io.Reader, n int) (refused *refusal, err error) {
	c.ration(min(n, smallMessage))
	first := min(n, smallMessage)
	if n > smallMessage && c.l.screen != nil {
		first = screenedBytes
	}
	if c.req, err = readBuffer(body, first); err != nil {
		return nil, err
	}
	c.relax()
	if n > smallMessage && c.l.screen != nil {
		if err := c.l.screen(c.req.B); err != nil {
			return c.l.screened(err), nil
		}
	}
	if r := c.l.admit(n); r != nil {
		return r, nil
	}
	c.room = n
	c.l.f.serves.enter(n)
	if n > len(c.req.B) {
		_ = c.raw.SetReadDeadline(time.Now().Add(c.stall * time.Duration(2+n/piece)))
		c.req, err = c.req.readOn(body, n)
		_ = c.raw.SetReadDeadline(time.Time{})
	}
	return nil, err
}

// screenedBytes of a large request are what it is judged by.
const screenedBytes = 4 << 10

// screened is the refusal of a request by how it begins. The bytes may have been damaged on their way, for which their
// sum is at the end: so it is one that asks to be repeated.
func (l *listener) screened(err error) *refusal {
	return &refusal{fasthttp.StatusServiceUnavailable, &l.f.serves.stranger, err.Error()}
}

// refuse answers a request that is not served. Its body is read and thrown away first, for a client listens only when
// it has sent everything.
func (l *listener) refuse(ctx *fasthttp.RequestCtx, n int, r *refusal) {
	r.tally.Add(1)
	l.complaints.say(l.f.logger(), r.tally, l.endpoint, ctx.RemoteAddr().String(), r.text)
	if r.tally != &l.f.serves.busy {
		ctx.SetConnectionClose() // of no further use to the client
	}
	if body := ctx.RequestBodyStream(); n >= 0 && body != nil {
		if _, err := io.Copy(io.Discard, body); err != nil {
			ctx.SetConnectionClose()
		}
	}
	say(ctx, r.status, r.text)
}

func say(ctx *fasthttp.RequestCtx, status int, text string) {
	ctx.SetStatusCode(status)
	ctx.SetBodyString(text)
}

// connState is told by fasthttp when an answer has been sent.
func (l *listener) connState(conn net.Conn, state fasthttp.ConnState) {
	if state != fasthttp.StateIdle {
		return
	}
	c := conn.(*serverConn)
	c.reads = 0
	c.use()
	c.state.CompareAndSwap(connBusy, connIdle)
	select {
	case <-l.closing:
		c.retire()
	default:
	}
}

// finish gives back what the request and the answer hold.
func (c *serverConn) finish() {
	c.reply.done()
	c.reply.Parts, c.reply.Stranger = nil, false
	c.req.release()
	c.req = nil
	if c.rationed.Load() > 0 {
		c.l.rationed.Add(-c.rationed.Swap(0))
	}
	if c.room >= 0 {
		c.l.leave(c.room)
		c.l.f.serves.end(c.room)
		c.room = -1
	}
}

// answer is the view of a connection that fasthttp sends as the body of a response: it writes the parts as they lie,
// and finishes when they are sent or cannot be.
type answer serverConn

const (
	piece = 64 << 20 // the most that is written under one deadline; smaller pieces cost throughput
	quick = 1 << 20  // an answer up to here needs no deadline: nearly all of it fits into the socket's buffer
)

func (a *answer) WriteTo(w io.Writer) (int64, error) {
	n := int64(0)
	for _, part := range a.reply.Parts {
		for len(part) > 0 {
			if err := (*serverConn)(a).hurry(); err != nil {
				return n, err
			}
			m, err := w.Write(part[:min(len(part), piece)])
			n += int64(m)
			if err != nil {
				return n, err
			}
			part = part[m:]
		}
	}
	return n, nil
}

// hurry gives the client of a large answer the time to take the next piece, and not for ever; a reader has less. A
// connection that had a large answer once keeps a deadline; it is moved only when it comes near, for a timer that is
// set wakes threads up.
func (c *serverConn) hurry() error {
	if c.reader {
		return c.raw.SetWriteDeadline(time.Now().Add(readPatience))
	}
	if c.deadline.IsZero() && c.size <= quick {
		return nil
	}
	now := time.Now()
	if c.deadline.Sub(now) >= c.stall {
		return nil
	}
	c.deadline = now.Add(2 * c.stall)
	return c.raw.SetWriteDeadline(c.deadline)
}

// Read is there to make an io.Reader; fasthttp prefers WriteTo.
func (a *answer) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (a *answer) Close() error {
	(*serverConn)(a).finish()
	return nil
}

var _ io.WriterTo = (*answer)(nil)
