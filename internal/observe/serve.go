package observe

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
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

// Bears reports whether the request has the token as a bearer token.
func (r *Request) Bears(token string) bool {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return Same(given, token)
}

// Same compares tokens in a time that does not reveal how much of a guess is right. An empty guess is wrong.
func Same(given, token string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return given != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Type   string   // of the content; empty means plain text
	Header []string // more lines of the header
	Body   []byte
}

// Text returns an answer of one line of text.
func Text(status int, text string) Answer { return Answer{Status: status, Body: []byte(text + "\n")} }

// Handler answers requests, several at a time.
type Handler func(*Request) Answer

// patience is the time limit of a read, or of writing slice bytes; longest is the most bytes of a request, and most the
// number of connections at a time.
const (
	patience = 5 * time.Second
	slice    = 64 << 10
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
	r := &Request{Remote: c.RemoteAddr(), Gone: func() <-chan struct{} { return gone(c) }}
	if r.Header, err = lines.ReadMIMEHeader(); err != nil {
		return
	}
	method, target, _ := strings.Cut(first, " ")
	if method != http.MethodGet && method != http.MethodHead {
		write(c, Text(http.StatusMethodNotAllowed, "only GET is answered"), true)
		return
	}
	target, _, _ = strings.Cut(target, " ")
	path, query, _ := strings.Cut(target, "?")
	r.Path = path
	r.Query, _ = url.ParseQuery(query) // parts that are not valid are dropped
	write(c, answerOf(h, r), method == http.MethodGet)
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

// write writes an answer, with its body unless the request was HEAD.
func write(c net.Conn, a Answer, whole bool) {
	if a.Type == "" {
		a.Type = "text/plain; charset=utf-8"
	}
	out := new(bytes.Buffer)
	fmt.Fprintf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nX-Content-Type-Options: nosniff\r\n",
		a.Status, http.StatusText(a.Status), a.Type, len(a.Body))
	for _, line := range append(a.Header, "Cache-Control: no-store", "Connection: close", "") {
		out.WriteString(line + "\r\n")
	}
	if whole {
		out.Write(a.Body)
	}
	for err := error(nil); out.Len() > 0 && err == nil; {
		_ = c.SetWriteDeadline(time.Now().Add(patience))
		_, err = c.Write(out.Next(slice))
	}
}
