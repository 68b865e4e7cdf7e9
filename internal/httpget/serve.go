package httpget

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Request is a request that was read.
type Request struct {
	Path   string // without its query
	Query  url.Values
	Header textproto.MIMEHeader
	Remote net.Addr
	// Gone returns a channel that is closed when the caller has closed the connection, or sends more. It is for answers
	// that take long.
	Gone func() <-chan struct{}
}

// IsFor reports whether the Host header can be that of a server of this name: an IP address, which no name server
// gives, localhost, or the name. A page that a browser was led to by another name is not to read the server's answers.
func (r *Request) IsFor(name string) bool {
	host := r.Host()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	own := name != "" && strings.EqualFold(host, name)
	return own || strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil
}

// Host returns the host name in the request.
func (r *Request) Host() string { return r.Header.Get("Host") }

// Answer is the answer to a request.
type Answer struct {
	Status int
	Type   string   // of the content; empty means plain text
	Header []string // more lines of the header
	Body   []byte
	// Stream, if set, writes the body. An error before its first byte is the answer, with status 409.
	Stream func(io.Writer) error
}

// Text returns an answer of one line of text.
func Text(status int, text string) Answer { return Answer{Status: status, Body: []byte(text + "\n")} }

// Handler answers requests, several at a time.
type Handler func(*Request) Answer

// patience is the time limit of a read or a write, longest the most bytes of a request, and most the number of
// connections at a time.
const (
	patience = 5 * time.Second
	longest  = 8 << 10
	most     = 64
)

// Serve answers requests until the listener is closed.
func Serve(l net.Listener, h Handler) error {
	var ring [most]net.Conn
	var serving sync.WaitGroup
	defer serving.Wait()
	for i := 0; ; i++ {
		c, err := l.Accept()
		if err != nil {
			if pause, is := err.(interface{ Temporary() bool }); is && pause.Temporary() { // too many open files
				time.Sleep(patience / 50)
				continue
			}
			return err
		}
		if before := ring[i%most]; before != nil {
			_ = before.Close()
		}
		ring[i%most] = c
		serving.Go(func() { serve(c, h) })
	}
}

// serve answers one request. It closes a connection that does not send one.
func serve(c net.Conn, h Handler) {
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	lines := textproto.NewReader(bufio.NewReader(io.LimitReader(c, longest)))
	first, err := lines.ReadLine()
	if err != nil {
		return
	}
	method, target, _ := strings.Cut(first, " ")
	w := &writer{c: c, head: method == http.MethodHead}
	if method != http.MethodGet && !w.head {
		for line := first; err == nil && line != ""; {
			line, err = lines.ReadLine()
		}
		if err == nil {
			w.answer(Text(http.StatusMethodNotAllowed, "only GET is answered"))
		}
		return
	}
	r := &Request{Remote: c.RemoteAddr(), Gone: func() <-chan struct{} { return gone(c) }}
	if r.Header, err = lines.ReadMIMEHeader(); err != nil {
		return
	}
	target, _, _ = strings.Cut(target, " ")
	path, query, _ := strings.Cut(target, "?")
	r.Path = path
	r.Query, _ = url.ParseQuery(query) // parts that are not valid are dropped
	w.answer(answerOf(h, r))
}

// answerOf returns a handler's answer. A panic becomes an answer too, since a page must not end the process.
func answerOf(h Handler, r *Request) (a Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = Text(http.StatusInternalServerError, fmt.Sprint("a panic: ", v))
		}
	}()
	return h(r)
}

// gone returns a channel that is closed when a connection is closed or has more to read.
func gone(c net.Conn) <-chan struct{} {
	over := make(chan struct{})
	_ = c.SetReadDeadline(time.Time{})
	go func() { // ends when the connection is closed after the answer
		defer close(over)
		_, _ = c.Read(make([]byte, 1))
	}()
	return over
}

// writer writes an answer, its header together with the first bytes of its body.
type writer struct {
	c       net.Conn
	head    bool // the request was HEAD: no body
	pending bytes.Buffer
}

func (w *writer) answer(a Answer) {
	w.writeHead(a)
	if a.Stream == nil {
		_, _ = w.Write(a.Body)
		return
	}
	if err := a.Stream(w); err != nil && w.pending.Len() > 0 {
		w.writeHead(Answer{Status: http.StatusConflict, Header: a.Header})
		_, _ = io.WriteString(w, err.Error()+"\n")
		return
	}
	_, _ = w.Write(nil)
}

func (w *writer) writeHead(a Answer) {
	w.pending.Reset()
	line := func(parts ...string) {
		for _, part := range append(parts, "\r\n") {
			w.pending.WriteString(part)
		}
	}
	line("HTTP/1.1 ", strconv.Itoa(a.Status), " ", http.StatusText(a.Status))
	if a.Type == "" {
		a.Type = "text/plain; charset=utf-8"
	}
	line("Content-Type: ", a.Type)
	if a.Body != nil {
		line("Content-Length: ", strconv.Itoa(len(a.Body)))
	}
	line("X-Content-Type-Options: nosniff")
	for _, more := range a.Header {
		line(more)
	}
	line("Cache-Control: no-store")
	line("Connection: close")
	line()
}

// Write implements [io.Writer].
func (w *writer) Write(b []byte) (int, error) {
	n := len(b)
	if w.head {
		b = nil
	}
	_ = w.c.SetWriteDeadline(time.Now().Add(patience))
	if w.pending.Len() > 0 {
		w.pending.Write(b)
		b = w.pending.Bytes()
		defer w.pending.Reset()
	}
	_, err := w.c.Write(b)
	return n, err
}
