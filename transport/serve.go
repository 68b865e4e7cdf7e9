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

// serverConn is a connection that a listener serves, with the answer that is being made. One goroutine of fasthttp
// reads a request, runs its handler, writes the answer, and then reads the next; other goroutines use state and raw
// only, to close the connection.
//
// From admission until the answer has been written the connection holds three things: room in the listener's budget,
// the request's buffer, which the handler and the answer's parts may alias, and the reply. finish returns all three,
// however a request ends, and may be called when nothing is held. A client can therefore never make the server keep
// memory.
//
// Deadlines are on the raw socket, and are set only where a client may be slow: while it sends the head of its first
// request or a head in pieces (press), while a large body arrives (read), and while it takes a large answer (hurry).
// Small requests on a connection that is in use need no deadline.
type serverConn struct {
	net.Conn // raw, or TLS over it
	raw      net.Conn
	l        *listener
	state    atomic.Int32
	reply    Reply
	req      *buffer
	size     int          // of the answer
	rationed atomic.Int64 // bytes of the first request
	room     int          // charged for the request; negative for none
	reads    int          // since the last answer, until the head is complete
	pressed  bool         // the client has to complete a head in time
	served   atomic.Bool  // an answer other than a refusal was sent
	over     atomic.Bool  // closed by another side than the listener
	reader   bool         // a reader's request came by it
	broken   func() bool  // isBroken, bound once
	used     atomic.Bool  // since the listener last checked
	stall    time.Duration
	deadline time.Time // of writing; zero before the first large answer
}

// The states of a connection. The one that changes state from connIdle owns the connection: serveRequest, which runs a
// handler, or the listener, which closes it. A request whose handler has begun is therefore answered even while the
// listener closes, and a request that is still being read is not begun.
const (
	connIdle    int32 = iota // between requests, or still reading one
	connBusy                 // from the start of a handler until its answer is sent
	connRetired              // closed by the listener
)

// retire closes the connection unless a handler runs on it, and reports whether it did.
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
	c.press() // until its first request is admitted
	defer c.finish()
	_ = l.server.ServeConn(c) // an error is the client's, which was answered or is gone
}

// isBroken reports whether the client has ended the connection, which nobody reads while a handler runs.
func (c *serverConn) isBroken() bool { return c.over.Load() || endedByPeer(c.raw) }

// Read sets a deadline for a client that sends the head of a request in pieces: nearly all heads arrive whole.
func (c *serverConn) Read(p []byte) (int, error) {
	c.reads++
	if c.reads == 2 {
		c.press()
	}
	return c.Conn.Read(p)
}

// Write closes a connection after a failed write: TLS would try for 5 s to send its closing alert.
func (c *serverConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		_ = c.raw.Close()
	}
	return n, err
}

// press ends the connection unless a request is admitted within StallTimeout.
func (c *serverConn) press() {
	if !c.pressed {
		c.pressed = true
		_ = c.raw.SetReadDeadline(time.Now().Add(c.stall))
	}
}

// relax removes the deadline of press when a head, or the first bytes of a body, have arrived in time. The next read of
// a body sets it again.
func (c *serverConn) relax() {
	c.reads = 1
	if c.pressed {
		c.pressed = false
		_ = c.raw.SetReadDeadline(time.Time{})
	}
}

// shakeHands secures a connection. A refused client is sent the reason, and its data is drained so that it reads the
// reason.
func (l *listener) shakeHands(raw net.Conn) (net.Conn, error) {
	_ = raw.SetDeadline(time.Now().Add(l.f.dialTimeout()))
	secured := tls.Server(raw, l.tls)
	err := secured.Handshake()
	if err == nil {
		_ = raw.SetDeadline(time.Time{})
		return secured, nil
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		cause := l.stranger(err)
		cause.Add(1)
		l.complaints.say(l.f.logger(), cause, l.endpoint, raw.RemoteAddr().String(), err.Error())
	}
	linger(raw, err)
	return nil, err
}

// stranger is the counter for a failed handshake.
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

// serveRequest checks a request's header, reads its body, runs the handler and leaves the answer to be sent.
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

// read reads a request. It reads the first bytes before it charges the budget: a client that announces much and sends
// little takes no room from others, and a large request is screened by these bytes if the listener has a screen. After
// that the client must keep a pace, since it holds room for which others wait.
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

// screenedBytes are the first bytes of a large request, by which it is screened.
const screenedBytes = 4 << 10

// screened is the refusal of a request by its first bytes. They may have been damaged on their way, and the checksum
// comes only at the end of the request: so the client is asked to repeat it.
func (l *listener) screened(err error) *refusal {
	return &refusal{fasthttp.StatusServiceUnavailable, &l.f.serves.stranger, err.Error()}
}

// refuse answers a request that is not served. It first reads and discards the body, since a client reads the answer
// only after it has sent everything.
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

// connState is called by fasthttp when an answer has been sent.
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

// finish releases what the request and the answer hold.
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

// answer is the view of a connection that fasthttp sends as the body of a response: it writes the parts without copying
// them, and calls finish when they are sent or cannot be sent.
type answer serverConn

const (
	piece = 64 << 20 // the most bytes written under one deadline; smaller pieces cost throughput
	quick = 1 << 20  // an answer up to this size needs no deadline: nearly all of it fits into the socket's buffer
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

// hurry sets the deadline by which the client of a large answer must take the next piece; a reader has less time. A
// connection keeps its deadline after the first large answer. The deadline is moved only when it is near, because
// setting a timer wakes threads.
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

// Read makes answer an io.Reader; fasthttp calls WriteTo instead.
func (a *answer) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (a *answer) Close() error {
	(*serverConn)(a).finish()
	return nil
}

var _ io.WriterTo = (*answer)(nil)
