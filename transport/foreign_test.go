package transport_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/transport"
)

// TestForeignServers: what answers in place of a gofleet server is called that, in a line, and not asked again unless it is a proxy that waits for
// its server.
//
// Promise: [G8] servers of other programs, addresses that can't be had, and damage on the way are errors that say so
// Also: TestOtherProtocols, TestListenFails, TestEveryFlippedBitIsSeen, TestCutMessages
func TestForeignServers(t *testing.T) {
	page := "<!DOCTYPE html><html><body>" + strings.Repeat("<p>It works!</p>\n", 300) + "</body></html>"
	for name, c := range map[string]struct {
		status     int
		kind, text string
		chunked    bool
		wraps      error
		want       string
	}{
		"a page":           {404, "text/html", page, false, transport.ErrRefused, "not a gofleet server: it answered 404 Not Found, text/html; look at the list of servers"},
		"a page, found":    {200, "text/html", page, false, transport.ErrRefused, "it answered 200 OK, text/html;"},
		"a page in chunks": {200, "text/html", page, true, transport.ErrRefused, "it answered 200 OK, text/html;"},
		"text":             {405, "text/plain; charset=utf-8", "method not allowed\nhere\n", false, transport.ErrRefused, `it answered 405 Method Not Allowed, "method not allowed";`},
		"json":             {200, "application/json", "{}", false, transport.ErrRefused, "it answered 200 OK, application/json;"},
		"a proxy":          {503, "text/plain", "no healthy upstream", false, nil, `it answered 503 Service Unavailable, "no healthy upstream";`},
		"a gateway":        {502, "text/html", page, false, nil, "it answered 502 Bad Gateway, text/html;"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.text))
			if c.chunked {
				w.(http.Flusher).Flush()
			}
		}))
		f := &transport.FastHTTP{}
		_, err := ask(f, s.Listener.Addr().String(), "x")
		if err == nil || errors.Is(err, transport.ErrRefused) != (c.wraps != nil) || errors.Is(err, transport.ErrUnreachable) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 250 {
			t.Errorf("%s: error %v, want %v that says %s", name, err, c.wraps, c.want)
		}
		f.CloseIdleConnections()
		s.Close()
	}
}

// TestOtherProtocols: the first line of a server of another protocol is shown.
func TestOtherProtocols(t *testing.T) {
	for _, said := range []string{"SSH-2.0-OpenSSH_9.2p1\r\n", "-ERR unknown command 'POST'\r\n", "220 mail ready\r\n"} {
		endpoint := fake(t, func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, said)
		})
		_, err := ask(&transport.FastHTTP{}, endpoint, "x")
		if want := `is this a gofleet server? It answered "` + strings.TrimSpace(said) + `"`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
