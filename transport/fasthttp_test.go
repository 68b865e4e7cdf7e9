package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func tlsConfig(t *testing.T, dir string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	law.Check(t, err)
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	law.Check(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}

// TestForeigners sends what is HTTP and not ours, as a web page might to a server on the user's own machine. Of a request without a length
// the head is sent alone: a body that nobody reads may have the answer thrown away with it.
func TestForeigners(t *testing.T) {
	endpoint, calls := start(t, &transport.FastHTTP{}, "127.0.0.1:0")
	const ours, body = "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\n", "Content-Length: 1\r\n\r\nx"
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"GET":              {strings.Replace(ours, "POST", "GET", 1) + "\r\n", 404},
		"a form of a page": {strings.Replace(ours, "application/x-gofleet", "text/plain", 1) + body, 404},
		"another path":     {strings.Replace(ours, "/gofleet/1", "/", 1) + body, 404},
		"no length":        {ours + "Transfer-Encoding: chunked\r\n\r\n", 411},
		"ours":             {ours + body, 200},
	} {
		if status := statusOf(t, endpoint, c.request); status != c.status {
			t.Errorf("%s: status %d, want %d", name, status, c.status)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d requests were served, want ours alone", n)
	}
}

// statusOf sends a request as it is, and returns the answer's status.
func statusOf(t *testing.T, endpoint, request string) int {
	t.Helper()
	conn, err := net.Dial("tcp", endpoint)
	law.Check(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	law.Check(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

// TestSmallerServer sends more than the server's bound, which is below the client's; it answers, and the connection lives.
func TestSmallerServer(t *testing.T) {
	endpoint, calls := start(t, &transport.FastHTTP{MaxMessage: 1000}, "127.0.0.1:0")
	client := &transport.FastHTTP{}
	for _, n := range []int{1001, 100_000, 10 << 20} {
		_, err := ask(client, endpoint, strings.Repeat("x", n))
		if !errors.Is(err, transport.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(n)) {
			t.Errorf("%d bytes: %v, want ErrTooLarge with the figure", n, err)
		}
	}
	if got, err := ask(client, endpoint, "x"); err != nil || got != "x" || calls.Load() != 1 {
		t.Errorf("the call after it: %q, %v, and %d were served", got, err, calls.Load())
	}
}

// TestSmallerClient gets an answer over the client's bound.
func TestSmallerClient(t *testing.T) {
	tr := &transport.FastHTTP{}
	l, err := tr.Listen("127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(_ []byte, reply *transport.Reply) { reply.Parts = [][]byte{make([]byte, 5<<20)} })
	}()
	if _, err := ask(&transport.FastHTTP{MaxMessage: 1000}, l.Endpoint(), "x"); !errors.Is(err, transport.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
		t.Error(err)
	}
}

// fake is a server that reads what say is told to and answers with bytes of its own.
func fake(t *testing.T, say func(conn net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			say(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}

// readRequest reads a request whole.
func readRequest(conn net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// TestBadServers calls servers that answer wrongly. The request may have been served, so no error may deny it.
func TestBadServers(t *testing.T) {
	for name, answer := range map[string]string{
		"closes":           "",
		"no HTTP":          "220 mail.example ESMTP\r\n",
		"cut in the head":  "HTTP/1.1 200 OK\r\nContent-Le",
		"cut in the body":  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
		"no length":        "HTTP/1.1 200 OK\r\n\r\nabc",
		"chunked":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"negative length":  "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
		"failed":           "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
		"failed and cut":   "HTTP/1.1 500 Oops\r\nContent-Length: 400\r\n\r\noops",
		"failed with more": "HTTP/1.1 500 Oops\r\nContent-Length: 99999\r\n\r\n" + strings.Repeat("x", 99999),
	} {
		endpoint := fake(t, func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, answer)
		})
		tr := &transport.FastHTTP{}
		for range 2 {
			_, err := ask(tr, endpoint, "x")
			if err == nil || errors.Is(err, transport.ErrUnreachable) {
				t.Errorf("%s: %v, want an error that leaves open whether it was served", name, err)
			} else if !strings.Contains(err.Error(), endpoint) || len(err.Error()) > 10_000 {
				t.Errorf("%s: an error of %d bytes that should name %s: %.300v", name, len(err.Error()), endpoint, err)
			}
		}
	}
}

// TestAnnouncement calls a server that announces a gigabyte and sends nothing: the client must not allocate it.
func TestAnnouncement(t *testing.T) {
	endpoint := fake(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nabc", 1<<30)
	})
	const asked = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range asked {
		if _, err := ask(&transport.FastHTTP{}, endpoint, "x"); err == nil {
			t.Error("no error")
		}
	}
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / asked; per > 1<<20 {
		t.Errorf("%d bytes allocated", per)
	}
}

// TestHalfSent calls a server that closes the connection inside a large request; nothing can have been served.
func TestHalfSent(t *testing.T) {
	endpoint := fake(t, func(conn net.Conn) { _, _ = io.CopyN(io.Discard, conn, 1000) })
	_, err := ask(&transport.FastHTTP{}, endpoint, strings.Repeat("x", 16<<20))
	if !errors.Is(err, transport.ErrUnreachable) {
		t.Errorf("%v, want ErrUnreachable: the request was not sent whole", err)
	}
}

// TestRestartedServer replaces a server between two calls; the connection that was kept is dead, and must not be used.
//
// Promise: [G5] connections outlive a server that restarts
// Also: TestMemoryWaitsForServe
func TestRestartedServer(t *testing.T) {
	tr, serving := &transport.FastHTTP{}, &transport.FastHTTP{}
	l, err := serving.Listen("127.0.0.1:0")
	law.Check(t, err)
	endpoint := l.Endpoint()
	for range 5 {
		served := make(chan error, 1)
		go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()
		for range 3 {
			if _, err := ask(tr, endpoint, "x"); err != nil {
				t.Fatal(err)
			}
		}
		law.Check(t, errors.Join(l.Close(context.Background()), <-served))
		if l, err = serving.Listen(endpoint); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.Close(context.Background())
}

// TestConnectionsAreKept counts connections at a server of another make: one for calls in a row, one for each of many at
// once, and IdleConns of them kept.
func TestConnectionsAreKept(t *testing.T) {
	const many = 8
	var made, open atomic.Int32
	arrived, closed := make(chan struct{}, many), make(chan struct{}, many)
	release := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if body, _ := io.ReadAll(req.Body); string(body) == "stay" {
			arrived <- struct{}{}
			<-release
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			made.Add(1)
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	endpoint := server.Listener.Addr().String()
	client := &transport.FastHTTP{IdleConns: 2}
	for range 10 {
		if _, err := ask(client, endpoint, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := made.Load(); n != 1 {
		t.Errorf("10 calls in a row made %d connections, want 1", n)
	}
	var together sync.WaitGroup
	for range many {
		together.Go(func() {
			if _, err := ask(client, endpoint, "stay"); err != nil {
				t.Error(err)
			}
		})
	}
	for range many {
		<-arrived
	}
	if n := made.Load(); n != many {
		t.Errorf("%d calls at once made %d connections in all, want as many", many, n)
	}
	close(release)
	together.Wait()
	for range many - 2 {
		<-closed
	}
	if n := open.Load(); n != 2 {
		t.Errorf("%d connections are kept, want 2", n)
	}
	client.CloseIdleConnections()
	<-closed
	<-closed
	if _, err := ask(client, endpoint, "x"); err != nil || made.Load() != many+1 {
		t.Errorf("after CloseIdleConnections: %v, and %d connections in all, want one more than %d", err, made.Load(), many)
	}
	client.CloseIdleConnections()
}

// TestProxiesAreIgnored names a proxy in the environment that does not exist.
func TestProxiesAreIgnored(t *testing.T) {
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	tr := &transport.FastHTTP{}
	endpoint, _ := start(t, tr, "127.0.0.1:0")
	if got, err := ask(tr, endpoint, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestSilentConnections opens connections that say nothing, or half of something; Close must not wait for them.
//
// Promise: [G4] a wait for a connection, or for room for messages, ends
// Also: TestStalledClient, TestTrickle, TestSlowHeads, TestServerHoldsNoMore, TestBusy, TestCallsWaitForRoom
func TestSilentConnections(t *testing.T) {
	dir := certificates(t)
	for name, tr := range map[string]*transport.FastHTTP{"plain": {}, "tls": {TLSDir: dir, Logger: quietLogger()}} {
		l, err := tr.Listen("127.0.0.1:0")
		law.Check(t, err)
		served := make(chan error, 1)
		go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()
		for _, half := range []string{"", "POST /gofl", "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: 99\r\n\r\nabc"} {
			conn, err := net.Dial("tcp", l.Endpoint())
			law.Check(t, err)
			defer conn.Close()
			_, _ = io.WriteString(conn, half)
		}
		if _, err := ask(tr, l.Endpoint(), "x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if err := errors.Join(l.Close(ctx), <-served); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// TestStalledClient asks for a large answer and does not read it; its parts come back when StallTimeout is over.
func TestStalledClient(t *testing.T) {
	tr := &transport.FastHTTP{StallTimeout: 50 * time.Millisecond}
	l, err := tr.Listen("127.0.0.1:0")
	law.Check(t, err)
	served, back := make(chan error, 1), make(chan struct{})
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			reply.Parts = [][]byte{make([]byte, 64<<20)}
			reply.Done = func() { close(back) }
		})
	}()
	conn, err := net.Dial("tcp", l.Endpoint())
	law.Check(t, err)
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: 0\r\n\r\n")
	select {
	case <-back:
	case <-time.After(20 * time.Second):
		t.Fatal("the answer is still held")
	}
	if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
		t.Error(err)
	}
}

// TestPanicIsLogged looks for the stack in the server's log, and that the client does not get it.
func TestPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	tr := &transport.FastHTTP{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	l, err := tr.Listen("127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- l.Serve(func([]byte, *transport.Reply) { panic("table wide is on fire") }) }()
	_, err = ask(tr, l.Endpoint(), "x")
	if err == nil || strings.Contains(err.Error(), "fire") {
		t.Errorf("the client gets %v", err)
	}
	if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"table wide is on fire", "fasthttp_test.go", l.Endpoint()} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, &log)
		}
	}
}

// TestAligned checks that floats in a message can be looked at where they lie, in every transport and size.
func TestAligned(t *testing.T) {
	aligned := func(body []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(body)))%8 == 0 }
	for name, tr := range map[string]transport.Transport{
		"memory": transport.NewMemory(), "fasthttp": &transport.FastHTTP{},
		"compressed":      transport.Compressed(transport.NewMemory(), byName(t, "zstd"), 0),
		"compressed http": transport.Compressed(&transport.FastHTTP{}, byName(t, "s2"), 0),
	} {
		l, err := tr.Listen("127.0.0.1:0")
		law.Check(t, err)
		served := make(chan error, 1)
		go func() {
			served <- l.Serve(func(req []byte, reply *transport.Reply) {
				if !aligned(req) {
					t.Errorf("%s: a request of %d bytes is not aligned", name, len(req))
				}
				reply.Parts = [][]byte{append([]byte(nil), req...)}
			})
		}()
		for _, n := range []int{1, 8, 100, 5000, 1 << 20, 3<<20 + 1} {
			err := tr.Call(context.Background(), l.Endpoint(), [][]byte{make([]byte, n)}, func(body []byte) error {
				if !aligned(body) {
					t.Errorf("%s: an answer of %d bytes is not aligned", name, len(body))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	}
}

// TestBroken: a listener knows that its client has closed a connection, also while the handler of its request runs, and takes for
// nothing such what it closes itself. Which request is a connection's first it says too.
func TestBroken(t *testing.T) {
	f := &transport.FastHTTP{IdleTimeout: 50 * time.Millisecond}
	l, err := f.Listen("127.0.0.1:0")
	law.Check(t, err)
	took, held := make(chan func() bool, 1), make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			if is := string(req) == "first"; reply.First != is {
				t.Errorf("request %q is its connection's first: %v", req, reply.First)
			}
			took <- reply.Broken
			if string(req) == "wait" {
				<-held
			}
		})
	}()
	ask := func(c net.Conn, body string) func() bool {
		if _, err := fmt.Fprintf(c, "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		broken := <-took
		if body != "wait" {
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
		}
		return broken
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Endpoint())
		law.Check(t, err)
		if ask(c, "first")() {
			t.Error("an open connection is broken")
		}
		return c
	}
	for _, body := range []string{"wait", "idle"} {
		c := dial()
		broken := ask(c, body)
		if broken() {
			t.Errorf("%s: an open connection is broken", body)
		}
		_ = c.Close()
		for !broken() {
			runtime.Gosched()
		}
	}
	close(held)
	c := dial()
	broken := ask(c, "idle")
	_, _ = io.ReadAll(c) // until the listener closes what nobody uses
	_ = l.Close(t.Context())
	if <-served; broken() {
		t.Error("what the listener has closed itself is broken")
	}
}
