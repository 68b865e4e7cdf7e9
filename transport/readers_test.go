package transport_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

const readToken = "for readers alone"

// openToReaders serves the job by an echo, and readers by answers of so many bytes; 0 is an echo too, in capitals.
func openToReaders(t *testing.T, tr transport.Transport, endpoint string, size int) (_ string, answered *atomic.Int32) {
	t.Helper()
	l, err := tr.Listen(endpoint)
	law.Check(t, err)
	answered = new(atomic.Int32)
	transport.HandleReads(l, func(req []byte, reply *transport.Reply) {
		reply.Parts = [][]byte{[]byte(strings.ToUpper(string(req)))}
		if size > 0 {
			reply.Parts[0] = make([]byte, size)
		}
		reply.Done = func() { answered.Add(1) }
	})
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) { reply.Parts = [][]byte{append([]byte(nil), req...)} })
	}()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return l.Endpoint(), answered
}

// TestReaders: the readers' token opens their path and no other, and the job's token all others and not theirs, on every transport.
func TestReaders(t *testing.T) {
	dir := certificates(t)
	caOnly := t.TempDir()
	copyFile(t, filepath.Join(dir, "ca.pem"), filepath.Join(caOnly, "ca.pem"))
	fast := func(f *transport.FastHTTP) *transport.FastHTTP { f.Logger = quietLogger(); return f }
	for name, c := range map[string]struct {
		server, job, outside transport.Transport
		endpoint             string
	}{
		"tokens": {fast(&transport.FastHTTP{Token: "secret", ReadToken: readToken}), &transport.FastHTTP{Token: "secret"}, &transport.FastHTTP{}, "127.0.0.1:0"},
		"tls": {fast(&transport.FastHTTP{TLSDir: dir, Token: "secret", ReadToken: readToken}), &transport.FastHTTP{TLSDir: caOnly, Token: "secret"},
			&transport.FastHTTP{TLSDir: caOnly, ReadToken: readToken}, "127.0.0.1:0"},
		"no token of the job": {fast(&transport.FastHTTP{ReadToken: readToken}), &transport.FastHTTP{}, &transport.FastHTTP{}, "127.0.0.1:0"},
		"a socket":            {fast(&transport.FastHTTP{ReadToken: readToken}), &transport.FastHTTP{}, &transport.FastHTTP{}, socketNames(t)()},
		"memory":              {&transport.Memory{ReadToken: readToken}, nil, nil, "server:1"},
	} {
		if m, ok := c.server.(*transport.Memory); ok {
			c.job, c.outside = m, m
		}
		reader := func(token string) transport.Transport { return c.outside.(transport.Readable).Reader(token) }
		for _, compressed := range []string{"", "none", "s2"} {
			t.Run(name+" "+compressed, func(t *testing.T) {
				with := func(tr transport.Transport, codec string) transport.Transport {
					if compressed == "" {
						return tr
					}
					return transport.Compressed(tr, byName(t, codec), 0)
				}
				endpoint, _ := openToReaders(t, with(c.server, compressed), c.endpoint, 0)
				if got, err := ask(with(c.job, compressed), endpoint, "x"); err != nil || got != "x" {
					t.Errorf("the job asks: %q, %v", got, err)
				}
				if got, err := ask(with(reader(readToken), "none"), endpoint, "x"); err != nil || got != "X" {
					t.Errorf("a reader asks: %q, %v", got, err)
				}
				for _, token := range []string{"secret", readToken + "!"} {
					_, err := ask(with(reader(token), "none"), endpoint, "x")
					if !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "FLEET_READ_TOKEN") || strings.Contains(err.Error(), readToken) {
						t.Errorf("a reader with the token %q: %v", token, err)
					}
				}
				if f, ok := c.outside.(*transport.FastHTTP); ok {
					as := &transport.FastHTTP{TLSDir: f.TLSDir, Token: readToken}
					if _, err := ask(with(as, compressed), endpoint, "x"); !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "wrong token") {
						t.Errorf("a worker with the readers' token: %v", err)
					}
				}
				many := strings.Repeat("x", 64<<10+1)
				if _, err := ask(with(reader(readToken), "none"), endpoint, many); !errors.Is(err, transport.ErrTooLarge) {
					t.Errorf("a reader asks at length: %v", err)
				}
				if compressed == "s2" { // 8 MiB in a few bytes
					if _, err := ask(with(reader(readToken), "s2"), endpoint, strings.Repeat("x", 8<<20)); err == nil {
						t.Error("what a reader sends may be large when it is decoded")
					}
				}
				if got, err := ask(with(c.job, compressed), endpoint, many); err != nil || got != many {
					t.Errorf("the job asks at length: %v", err)
				}
			})
		}
	}
	for name, tr := range map[string]transport.Transport{"no token": &transport.FastHTTP{Logger: quietLogger()}, "no token, memory": transport.NewMemory()} {
		endpoint, _ := openToReaders(t, tr, "127.0.0.1:0", 0)
		if _, err := ask(tr.(transport.Readable).Reader(""), endpoint, "x"); !errors.Is(err, transport.ErrRefused) {
			t.Errorf("%s: a reader is let in (%v)", name, err)
		}
	}
	closed := &transport.FastHTTP{ReadToken: readToken, Logger: quietLogger()}
	endpoint, calls := start(t, closed, "127.0.0.1:0") // as a worker of a collective job listens
	if _, err := ask(closed.Reader(readToken), endpoint, "x"); !errors.Is(err, transport.ErrRefused) || calls.Load() > 0 {
		t.Errorf("a reader is let in where nothing is read (%v)", err)
	}
}

// TestReadTokens: a token of readers is refused at the start that is too short, the job's own, or makes certificates workers.
func TestReadTokens(t *testing.T) {
	dir := certificates(t)
	for says, f := range map[string]*transport.FastHTTP{
		"has 5 bytes, and needs 16":     {ReadToken: "short"},
		"is the job's own FLEET_TOKEN":  {ReadToken: readToken, Token: readToken},
		"has a line break":              {ReadToken: readToken + "\n"},
		"with TLS needs FLEET_TOKEN":    {ReadToken: readToken, TLSDir: dir},
		"with TLS needs FLEET_TOKEN be": {ReadToken: readToken, TLS: tlsConfig(t, dir)},
	} {
		l, err := f.Listen("127.0.0.1:0")
		if err == nil {
			_ = l.Close(t.Context())
		}
		if !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), readToken) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestReadTokenOfTheEnvironment reads both tokens.
func TestReadTokenOfTheEnvironment(t *testing.T) {
	t.Setenv("FLEET_TOKEN", "secret")
	t.Setenv("FLEET_READ_TOKEN", readToken+"\n")
	if f, err := transport.FromEnv(); err != nil || f.ReadToken != readToken || f.Token != "secret" {
		t.Errorf("%+v, %v", f, err)
	}
	t.Setenv("FLEET_READ_TOKEN", "secret")
	if _, err := transport.FromEnv(); err == nil {
		t.Error("a short token is taken")
	}
}

// TestAReaderThatTakesNothing: a reader that asks for much and takes none of it is cut off within about a second, with what was kept for it,
// while the job's requests go on.
func TestAReaderThatTakesNothing(t *testing.T) {
	law.Slow(t)
	for name, secured := range map[string]bool{"plaintext": false, "tls": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &transport.FastHTTP{Token: "secret", ReadToken: readToken}
			if secured {
				tr.TLSDir = certificates(t)
			}
			const size = 256 << 10
			endpoint, answered := openToReaders(t, tr, "127.0.0.1:0", size)
			began := time.Now()
			for try := 1; ; try++ { // a busy machine may be late once
				took := untilCutOff(t, rawReader(t, tr, endpoint))
				if took < 5*time.Second { // what TLS would take to say goodbye
					break
				} else if try == 3 {
					t.Errorf("it was cut off after %v, thrice", took)
					break
				}
			}
			if got, err := ask(tr, endpoint, "x"); err != nil || got != "x" {
				t.Errorf("the job asks: %q, %v", got, err)
			}
			for tr.Stats().Serving > 0 && time.Since(began) < time.Minute {
				_, _ = ask(tr, endpoint, "x")
			}
			if s := tr.Stats(); s.Serving != 0 || answered.Load() == 0 {
				t.Errorf("%d requests are held yet, %d answers were let go", s.Serving, answered.Load())
			}
		})
	}
}

// untilCutOff is how long a reader asks, and takes no answer, until nothing more is taken from it.
func untilCutOff(t *testing.T, conn net.Conn) time.Duration {
	t.Helper()
	began, over := time.Now(), make(chan struct{})
	go func() {
		defer close(over)
		for err := error(nil); err == nil; {
			_, err = io.WriteString(conn, headOfReader(1)+"x")
		}
	}()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("it is not cut off")
	}
	return time.Since(began)
}

// headOfReader is a request of so many bytes, but for these.
func headOfReader(n int) string {
	head := strings.Replace(headOf(n), "POST /gofleet/1", "POST /gofleet/1/read", 1)
	return strings.Replace(head, "\r\n", "\r\nAuthorization: Bearer "+readToken+"\r\n", 1)
}

// rawReader is a connection with small buffers, on which a reader's requests are written by hand.
func rawReader(t *testing.T, tr *transport.FastHTTP, endpoint string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", endpoint)
	law.Check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if tr.TLSDir != "" {
		config := tlsConfig(t, tr.TLSDir)
		config.ServerName = "127.0.0.1"
		return tls.Client(conn, config)
	}
	return conn
}

// TestManyReaders: readers have an eighth of a listener's connections, and the job the others.
func TestManyReaders(t *testing.T) {
	tr := &transport.FastHTTP{ReadToken: readToken, MaxConns: 16, Logger: quietLogger()}
	endpoint, _ := openToReaders(t, tr, "127.0.0.1:0", 0)
	readers := make([]transport.Transport, 3)
	for i := range readers {
		readers[i] = tr.Reader(readToken)
		_, err := ask(readers[i], endpoint, "x")
		if i < 2 && err != nil || i == 2 && (!errors.Is(err, transport.ErrBusy) || !strings.Contains(err.Error(), "readers have 2 connections")) {
			t.Errorf("reader %d: %v", i, err)
		}
	}
	for i := range 4 {
		if _, err := ask(&transport.FastHTTP{}, endpoint, "x"); err != nil {
			t.Errorf("worker %d: %v", i, err)
		}
	}
	readers[0].(transport.IdleCloser).CloseIdleConnections()
	for began := time.Now(); ; { // until the listener has seen that
		if _, err := ask(readers[2], endpoint, "x"); err == nil {
			return
		} else if time.Since(began) > time.Minute {
			t.Fatalf("no place is free, and a reader has gone: %v", err)
		}
	}
}
