package observe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

// listen answers until the test ends.
func listen(t *testing.T, h Handler) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error)
	go func() { served <- Serve(l, h) }()
	t.Cleanup(func() { l.Close(); <-served })
	return l.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	law.Check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestServe: what is asked is answered once, other methods are refused, what is no request ends its connection, and connections that say
// nothing keep nobody from asking.
func TestServe(t *testing.T) {
	addr := listen(t, func(r *Request) Answer {
		switch r.Path {
		case "/echo":
			return Answer{Status: 200, Type: "text/x", Header: []string{"X-A: b"}, Body: []byte(r.Host() + r.Query.Get("a"))}
		case "/long":
			return Answer{Status: 200, Body: bytes.Repeat([]byte("x"), 3*slice+1)}
		case "/panic":
			var none []int
			return Text(none[len(r.Path)], "")
		case "/none":
			return Answer{Status: 200}
		}
		return made("", func(w io.Writer) error { return errors.Join(errors.New("busy"), fmt.Errorf("%s", r.Path)) })
	})
	for range 3 * most { // which are cut off by those that follow
		dial(t, addr)
	}
	for asked, want := range map[string]string{
		"GET /echo?a=1 HTTP/1.1\r\nHost: h\r\n\r\n": "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 2\r\nX-Content-Type-Options: nosniff\r\nX-A: b\r\n" +
			"Cache-Control: no-store\r\nConnection: close\r\n\r\nh1",
		"HEAD /echo HTTP/1.0\r\nhost: h\r\n\r\n":       "Content-Length: 1\r\n+\r\n\r\n",
		"GET /long HTTP/1.1\r\n\r\n":                   "Content-Length: 196609\r\n+\r\n\r\n" + strings.Repeat("x", 3*slice+1),
		"GET /panic HTTP/1.1\r\n\r\n":                  "HTTP/1.1 500 Internal Server Error\r\n+length 0\n",
		"GET /none HTTP/1.1\r\n\r\n":                   "HTTP/1.1 200 OK\r\n+\r\n\r\n",
		"GET /busy HTTP/1.1\r\n\r\n":                   "HTTP/1.1 409 Conflict\r\n+\r\n\r\nbusy\n/busy\n",
		"POST /echo HTTP/1.1\r\nA: b\r\n\r\nbody":      "HTTP/1.1 405 Method Not Allowed\r\n+only GET is answered\n",
		"\x16\x03\x01 a handshake\n\n":                 "HTTP/1.1 405 Method Not Allowed\r\n+\n",
		"GET /echo HTTP/1.1\r\nno header\r\n\r\n":      "",
		"GET /echo" + strings.Repeat(" x", longest):    "",
		"GET /echo HTTP/1.1\r\nHost: " + "\r\n\r\nGET": "HTTP/1.1 200 OK\r\n+\r\n\r\n",
	} {
		c := dial(t, addr)
		_, _ = io.WriteString(c, asked)
		answer, _ := io.ReadAll(bufio.NewReader(c))
		begins, ends, _ := strings.Cut(want, "+")
		if got := string(answer); !strings.Contains(got, begins) || !strings.HasSuffix(got, ends) || want == "" && got != "" {
			t.Errorf("%.40q: %q, want %q", asked, got, want)
		}
	}
}

// TestGone: an answer that is long in coming is told that who asked has gone.
func TestGone(t *testing.T) {
	told := make(chan struct{})
	asked := make(chan struct{})
	addr := listen(t, func(r *Request) Answer {
		gone := r.Gone()
		close(asked)
		select {
		case <-gone:
			close(told)
		case <-time.After(time.Minute):
		}
		return Text(200, "")
	})
	c := dial(t, addr)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	<-asked
	c.Close()
	<-told
}

// TestGet asks a listener, by the limits of its answer.
func TestGet(t *testing.T) {
	addr := listen(t, func(r *Request) Answer {
		if r.Path != "/" {
			return Text(404, "nothing")
		}
		return Text(200, "abc")
	})
	if b, err := Get(t.Context(), addr, "/", "", 4); err != nil || string(b) != "abc\n" {
		t.Errorf("%q, %v", b, err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too late"))
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // which accepts nobody
	law.Check(t, err)
	defer l.Close()
	if _, err := Get(ctx, l.Addr().String(), "/", "", 3); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("of who says nothing: %v", err)
	}
	for path, want := range map[string]string{"/": "longer than 3 bytes", "/a": "/a: nothing"} {
		if b, err := Get(t.Context(), addr, path, "", 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %s", path, b, err, want)
		}
	}
}
