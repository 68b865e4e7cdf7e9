package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"reflect"
	"strings"

	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// TestEveryFieldActs holds each field of the transports to what calls, or listeners, do otherwise with it. A new field has no case, and
// fails.
func TestEveryFieldActs(t *testing.T) {
	dir := certificates(t)
	memory := map[string]func(*testing.T){"MaxMessage": func(t *testing.T) {
		for limit, want := range map[int]error{0: nil, 1000: transport.ErrTooLarge} {
			tr := transport.NewMemory()
			tr.MaxMessage = limit
			endpoint, _ := start(t, tr, "a:1")
			if _, err := ask(tr, endpoint, strings.Repeat("x", 2000)); !errors.Is(err, want) {
				t.Errorf("limit %d: %v, want %v", limit, err, want)
			}
		}
	}}
	reads := func(tr transport.Transport, endpoint string) func(*testing.T) {
		return func(t *testing.T) {
			for token, want := range map[string]error{readToken: nil, readToken + "?": transport.ErrRefused} {
				endpoint, _ := openToReaders(t, tr, endpoint, 0)
				if _, err := ask(tr.(transport.Readable).Reader(token), endpoint, "x"); !errors.Is(err, want) {
					t.Errorf("a reader with %q: %v", token, err)
				}
			}
		}
	}
	memory["ReadToken"] = reads(&transport.Memory{ReadToken: readToken}, "a:0")
	actsOn(t, transport.Memory{}, memory)
	actsOn(t, transport.FastHTTP{}, map[string]func(*testing.T){
		"MaxMessage": func(t *testing.T) {
			for limit, want := range map[int]error{0: nil, 1000: transport.ErrTooLarge} {
				endpoint, _ := start(t, &transport.FastHTTP{}, "127.0.0.1:0")
				if _, err := ask(&transport.FastHTTP{MaxMessage: limit}, endpoint, strings.Repeat("x", 2000)); !errors.Is(err, want) {
					t.Errorf("limit %d: %v, want %v", limit, err, want)
				}
			}
		},
		"MaxInFlight": func(t *testing.T) {
			for limit, waits := range map[int64]bool{0: false, mb * 3 / 2: true} {
				endpoint, arrived, release, _ := holding(t, &transport.FastHTTP{})
				client := &transport.FastHTTP{MaxInFlight: limit}
				one := send(client, t.Context(), endpoint, mb)
				<-arrived
				ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 100 * time.Millisecond, false: 20 * time.Second}[waits])
				two := send(client, ctx, endpoint, mb)
				select {
				case err := <-two:
					if !waits || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("with room for %d bytes a second call is not sent: %v", limit, err)
					}
				case <-arrived:
					if waits {
						t.Errorf("with room for %d bytes a second call is sent", limit)
					}
				}
				close(release)
				if err := <-one; err != nil {
					t.Error(err)
				}
				cancel()
				client.CloseIdleConnections()
			}
		},
		"IdleConns": func(t *testing.T) {
			if some, one := dialled(t, &transport.FastHTTP{}), dialled(t, &transport.FastHTTP{IdleConns: 1}); some != 3 || one != 5 {
				t.Errorf("twice three calls at once make %d connections, and %d if one is kept; want 3 and 5", some, one)
			}
		},
		"DialTimeout": func(t *testing.T) {
			silent, err := net.Listen("tcp", "127.0.0.1:0") // which answers no handshake
			law.Check(t, err)
			defer silent.Close()
			for limit, over := range map[time.Duration]bool{0: true, time.Millisecond: false} {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				err := (&transport.FastHTTP{TLSDir: dir, DialTimeout: limit}).Call(ctx, silent.Addr().String(), nil, func([]byte) error { return nil })
				if err == nil || (ctx.Err() != nil) != over {
					t.Errorf("dialling for at most %v: %v, the context: %v", limit, err, ctx.Err())
				}
				cancel()
			}
		},
		"StallTimeout": func(t *testing.T) {
			for limit, closed := range map[time.Duration]bool{0: false, 20 * time.Millisecond: true} {
				endpoint, _ := start(t, &transport.FastHTTP{StallTimeout: limit}, "127.0.0.1:0")
				conn, err := net.Dial("tcp", endpoint)
				law.Check(t, err)
				_ = conn.SetReadDeadline(time.Now().Add(map[bool]time.Duration{true: 20 * time.Second, false: 200 * time.Millisecond}[closed]))
				if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) == closed {
					t.Errorf("stalled for %v: %v", limit, err)
				}
				conn.Close()
			}
		},
		"IdleTimeout": func(t *testing.T) {
			for limit, closed := range map[time.Duration]bool{0: false, 10 * time.Millisecond: true} {
				endpoint, _ := start(t, &transport.FastHTTP{IdleTimeout: limit}, "127.0.0.1:0")
				conn := dial(t, endpoint, headOf(1)+"x")
				_ = conn.SetReadDeadline(time.Now().Add(map[bool]time.Duration{true: 20 * time.Second, false: 100 * time.Millisecond}[closed]))
				if _, err := io.Copy(io.Discard, conn); isTimeout(err) == closed {
					t.Errorf("unused for %v: %v", limit, err)
				}
			}
		},
		"MaxConns": func(t *testing.T) {
			for limit, closed := range map[int]bool{0: false, 3: true} {
				endpoint, _ := start(t, &transport.FastHTTP{MaxConns: limit, Logger: quietLogger()}, "127.0.0.1:0")
				var conns []net.Conn
				for range 4 {
					conns = append(conns, served(t, endpoint))
				}
				_ = conns[3].SetReadDeadline(time.Now().Add(map[bool]time.Duration{true: 20 * time.Second, false: 50 * time.Millisecond}[closed]))
				if _, err := conns[3].Read(make([]byte, 1)); isTimeout(err) == closed {
					t.Errorf("one connection more than %d: %v", limit, err)
				}
			}
		},
		"ListenAddr": func(t *testing.T) {
			for addr, listens := range map[string]bool{"": false, "127.0.0.1:0": true} {
				l, err := (&transport.FastHTTP{ListenAddr: addr}).Listen("192.0.2.1:7000") // an address that no machine has
				if err == nil {
					err = l.Close(t.Context())
				}
				if (err == nil) != listens {
					t.Errorf("listening at %q: %v", addr, err)
				}
			}
		},
		"Checksum": func(t *testing.T) {
			if !(&transport.FastHTTP{}).Guards("127.0.0.1:1") || (&transport.FastHTTP{Checksum: true}).Guards("127.0.0.1:1") {
				t.Error("loopback needs no checksum, unless one is asked for")
			}
		},
		"TLSDir": func(t *testing.T) {
			strangers(t, &transport.FastHTTP{TLSDir: dir})
			if (&transport.FastHTTP{}).Guards("10.0.0.7:1") || !(&transport.FastHTTP{TLSDir: dir}).Guards("10.0.0.7:1") {
				t.Error("TLS guards bytes between machines, and nothing else does")
			}
		},
		"TLS": func(t *testing.T) { strangers(t, &transport.FastHTTP{TLS: tlsConfig(t, dir)}) },
		"Token": func(t *testing.T) {
			strangers(t, &transport.FastHTTP{Token: "secret"})
			if _, err := (&transport.FastHTTP{Token: "secret"}).Listen("0.0.0.0:0"); err == nil || !strings.Contains(err.Error(), "a token in plaintext protects nothing") {
				t.Error(err)
			}
		},
		"ReadToken": reads(&transport.FastHTTP{ReadToken: readToken, Logger: quietLogger()}, "127.0.0.1:0"),
		"Cluster": func(t *testing.T) {
			strangers(t, &transport.FastHTTP{Cluster: "of today"})
			endpoint, _ := start(t, &transport.FastHTTP{TLSDir: dir, Cluster: "of today"}, "127.0.0.1:0")
			for cluster, want := range map[string]error{"of today": nil, "of yesterday": transport.ErrRefused} {
				if _, err := ask(&transport.FastHTTP{TLSDir: dir, Cluster: cluster}, endpoint, "x"); !errors.Is(err, want) {
					t.Errorf("a process of the cluster %s, by TLS: %v", cluster, err)
				}
			}
		},
		"Insecure": func(t *testing.T) {
			for insecure, want := range map[bool]error{false: transport.ErrRefused, true: nil} {
				l, err := (&transport.FastHTTP{Insecure: insecure}).Listen("0.0.0.0:0")
				if !errors.Is(err, want) {
					t.Errorf("insecure %t: %v", insecure, err)
				}
				if err == nil {
					_ = l.Close(t.Context())
				}
			}
		},
		"Logger": func(t *testing.T) {
			var log bytes.Buffer
			server := &transport.FastHTTP{TLSDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			t.Run("refused", func(t *testing.T) {
				endpoint, _ := start(t, server, "127.0.0.1:0")
				for range 20 { // strangers write one line
					if _, err := ask(&transport.FastHTTP{}, endpoint, "x"); !errors.Is(err, transport.ErrRefused) {
						t.Error(err)
					}
				}
			})
			if n := strings.Count(log.String(), "request refused"); n != 1 {
				t.Errorf("the log has %d lines of refusals: %q", n, log.String())
			}
		},
	})
}

// served is a connection on which a request has been answered.
func served(t *testing.T, endpoint string) net.Conn {
	t.Helper()
	conn := dial(t, endpoint, headOf(1)+"x")
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.ReadAtLeast(conn, make([]byte, 4096), 10) // a connection that was turned away ends
	return conn
}

// actsOn runs the case of each exported field of a struct.
func actsOn(t *testing.T, of any, cases map[string]func(*testing.T)) {
	t.Helper()
	typ := reflect.TypeOf(of)
	for f := range typ.Fields() {
		shows, ok := cases[f.Name]
		switch {
		case !f.IsExported():
		case !ok:
			t.Errorf("nothing shows what %s.%s does", typ.Name(), f.Name)
		default:
			t.Run(typ.Name()+"."+f.Name, shows)
		}
		delete(cases, f.Name)
	}
	for name := range cases {
		t.Errorf("%s has no %s", typ.Name(), name)
	}
}

// strangers fails the test unless processes with these settings talk to each other, and to none without.
func strangers(t *testing.T, settings *transport.FastHTTP) {
	t.Helper()
	settings.Logger = quietLogger()
	endpoint, _ := start(t, settings, "127.0.0.1:0")
	if _, err := ask(settings, endpoint, "x"); err != nil {
		t.Errorf("a member: %v", err)
	}
	if _, err := ask(&transport.FastHTTP{}, endpoint, "x"); !errors.Is(err, transport.ErrRefused) {
		t.Errorf("a stranger: %v", err)
	}
}

// dialled is how many connections it takes to make three calls at once, twice.
func dialled(t *testing.T, client *transport.FastHTTP) int64 {
	t.Helper()
	l, err := (&transport.FastHTTP{}).Listen("127.0.0.1:0")
	law.Check(t, err)
	arrived, leave, served := make(chan bool), make(chan bool), make(chan error, 1)
	go func() { served <- l.Serve(func([]byte, *transport.Reply) { arrived <- true; <-leave }) }()
	for range 2 {
		var calls [3]<-chan error
		for k := range calls {
			calls[k] = send(client, t.Context(), l.Endpoint(), 1000)
			<-arrived
		}
		for range calls {
			leave <- true
		}
		for _, done := range calls {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	client.CloseIdleConnections()
	if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
		t.Error(err)
	}
	return client.Stats().Dials
}
