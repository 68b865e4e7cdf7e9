package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/google/go-cmp/cmp"
)

// dial opens a connection of the test's own and writes to it.
func dial(t *testing.T, endpoint, say string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", endpoint)
	law.Check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, say); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestRefusalsAreCounted has each kind of stranger call, and looks at what both sides count, and at what the caller is told.
func TestRefusalsAreCounted(t *testing.T) {
	ours, theirs := certificates(t), certificates(t)
	type refusals = transport.Refusals
	for _, c := range []struct {
		name           string
		server, client *transport.FastHTTP
		want           refusals
		says           []string
	}{
		{"certificate", &transport.FastHTTP{TLSDir: ours}, mixed(t, ours, theirs), refusals{Certificate: 1}, []string{"certificate"}},
		{"plaintext", &transport.FastHTTP{TLSDir: ours}, &transport.FastHTTP{}, refusals{Plaintext: 1}, []string{"TLS", "FLEET_TLS_DIR"}},
		{"token", &transport.FastHTTP{Token: "a"}, &transport.FastHTTP{Token: "b"}, refusals{Token: 1}, []string{"wrong token", "FLEET_TOKEN"}},
		{"no token", &transport.FastHTTP{Token: "a"}, &transport.FastHTTP{}, refusals{Token: 1}, []string{"wrong token", "FLEET_TOKEN"}},
		{"cluster", &transport.FastHTTP{Cluster: "ads"}, &transport.FastHTTP{Cluster: "news"}, refusals{Cluster: 1},
			[]string{`"ads"`, `"news"`, "FLEET_CLUSTER"}},
		{"no cluster", &transport.FastHTTP{Cluster: "ads"}, &transport.FastHTTP{}, refusals{Cluster: 1}, []string{`"ads"`, `""`}},
		{"unasked cluster", &transport.FastHTTP{}, &transport.FastHTTP{Cluster: "news"}, refusals{Cluster: 1}, []string{`"news"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.server.Logger = quietLogger()
			t.Cleanup(func() { // when the listener is closed: a client may learn of its refusal before it is counted
				if got := c.server.Stats().Refused; got != c.want {
					t.Errorf("the server counts %+v, want %+v", got, c.want)
				}
			})
			endpoint, calls := start(t, c.server, "127.0.0.1:0")
			_, err := ask(c.client, endpoint, "x")
			if !errors.Is(err, transport.ErrRefused) {
				t.Fatalf("%v, want ErrRefused", err)
			}
			for _, word := range append(c.says, endpoint) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v; it should speak of %s", err, word)
				}
			}
			if calls.Load() > 0 {
				t.Error("it was served")
			}
			if s := c.client.Stats(); s.Calls != 1 || s.Failed != (transport.Failures{Refused: 1}) || s.Sent != 0 {
				t.Errorf("the client counts %+v", s)
			}
		})
	}
}

// TestOtherVersions speaks other versions of the protocol, and none.
func TestOtherVersions(t *testing.T) {
	for _, c := range []struct {
		path, status, says string
		want               transport.Refusals
	}{
		{"/gofleet/2", "426", `version 1 of the protocol, the client "2"`, transport.Refusals{Version: 1}},
		{"/gofleet/", "426", `the client ""`, transport.Refusals{Version: 1}},
		{"/gofleet/" + strings.Repeat("9", 500), "426", `999"`, transport.Refusals{Version: 1}},
		{"/gofleet", "404", "its own clients only", transport.Refusals{Stranger: 1}},
	} {
		server := &transport.FastHTTP{}
		endpoint, calls := start(t, server, "127.0.0.1:0")
		conn := dial(t, endpoint, "POST "+c.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-gofleet\r\nContent-Length: 1\r\n\r\nx")
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status) || !strings.Contains(string(answer), c.says) || len(answer) > 500 {
			t.Errorf("%.30s: %q, %v", c.path, answer, err)
		}
		if got := server.Stats().Refused; got != c.want || calls.Load() > 0 {
			t.Errorf("%.30s: the server counts %+v", c.path, got)
		}
	}
}

// TestNewerServer calls a server that speaks another version.
func TestNewerServer(t *testing.T) {
	endpoint := fake(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 31\r\n\r\nthis server speaks version 2 now")
	})
	if _, err := ask(&transport.FastHTTP{}, endpoint, "x"); !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v, want ErrRefused with the server's words", err)
	}
}

// TestFailuresAreCounted has calls fail in every way but refusal.
func TestFailuresAreCounted(t *testing.T) {
	for name, tr := range map[string]interface {
		transport.Transport
		transport.Metered
	}{
		"memory":     &transport.Memory{MaxMessage: 1000},
		"fasthttp":   &transport.FastHTTP{MaxMessage: 1000, Logger: quietLogger()},
		"compressed": transport.Compressed(&transport.Memory{MaxMessage: 1016}, byName(t, "none"), 0).(metered),
	} {
		l, err := tr.Listen("127.0.0.1:0")
		law.Check(t, err)
		served := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		go func() {
			served <- l.Serve(func(req []byte, reply *transport.Reply) {
				switch string(req) {
				case "panic":
					panic("in a test")
				case "hang":
					cancel()
					<-release
				case "much":
					reply.Parts = [][]byte{make([]byte, 1001)}
				}
			})
		}()
		tell := func(ctx context.Context, endpoint, what string) {
			_ = tr.Call(ctx, endpoint, [][]byte{[]byte(what)}, func([]byte) error { return nil })
		}
		tell(t.Context(), l.Endpoint(), "fine")
		tell(t.Context(), l.Endpoint(), "panic")
		tell(t.Context(), l.Endpoint(), "much")
		tell(t.Context(), l.Endpoint(), strings.Repeat("x", 1001))
		tell(ctx, l.Endpoint(), "hang")
		tell(t.Context(), "localhost:1", "nobody")
		want := transport.Failures{Unreachable: 1, TooLarge: 2, Ended: 1, Other: 1}
		if got := tr.Stats().Failed; got != want {
			t.Errorf("%s counts %+v, want %+v", name, got, want)
		}
		close(release)
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
		if s := tr.Stats(); s.InFlight != 0 || s.InFlightBytes != 0 || s.Serving != 0 || s.ServingBytes != 0 {
			t.Errorf("%s: something is still under way: %+v", name, s)
		}
	}
}

// metered is a transport that counts.
type metered interface {
	transport.Transport
	transport.Metered
}

// TestBytesAreCounted sends zeros, which shrink, and looks at both figures on both sides.
func TestBytesAreCounted(t *testing.T) {
	for name, under := range map[string]metered{"memory": transport.NewMemory(), "fasthttp": &transport.FastHTTP{}} {
		z := transport.Compressed(under, byName(t, "s2"), 0).(metered)
		endpoint, _ := start(t, z, "127.0.0.1:0")
		for range 3 {
			if _, err := ask(z, endpoint, strings.Repeat("\x00", 100_000)); err != nil {
				t.Fatal(err)
			}
		}
		s := z.Stats()
		if s.Calls != 3 || s.Served != 3 || s.RawSent != 300_000 || s.RawReceived != 300_000 || s.RawServedReceived != 300_000 || s.RawServedSent != 300_000 {
			t.Errorf("%s: %+v", name, s)
		}
		if s.Sent < 48 || s.Sent > 30_000 || s.Sent != s.ServedReceived || s.Received != s.ServedSent {
			t.Errorf("%s: encoded bytes: %+v", name, s)
		}
		if name == "fasthttp" && s.Dials != 1 {
			t.Errorf("%d connections for three calls in a row", s.Dials)
		}
		if diff := cmp.Diff(under.Stats().Sent, s.Sent); diff != "" {
			t.Errorf("%s: what is below counts otherwise: %s", name, diff)
		}
	}
}

// TestDamageIsCounted sends what was damaged, both ways.
func TestDamageIsCounted(t *testing.T) {
	flip := func(b []byte) []byte { b[20] ^= 4; return b }
	net := transport.NewMemory()
	l := &line{Transport: net, request: flip, answer: intact}
	server, client := transport.Compressed(net, byName(t, "none"), 0).(metered), transport.Compressed(l, byName(t, "none"), 0).(metered)
	endpoint, _ := start(t, server, "server:0")
	_, _ = ask(client, endpoint, "gradients")
	l.request, l.answer = intact, flip
	_, _ = ask(client, endpoint, "gradients")
	if s := server.Stats(); s.Refused != (transport.Refusals{Corrupt: 1}) {
		t.Errorf("the server counts %+v", s.Refused)
	}
	if s := client.Stats(); s.Failed != (transport.Failures{Corrupt: 2}) {
		t.Errorf("the client counts %+v", s.Failed)
	}
}

// TestStatsInALog looks at what slog makes of them: raw bytes are shown where a codec saved some.
func TestStatsInALog(t *testing.T) {
	var log bytes.Buffer
	s := transport.Stats{Calls: 7, Sent: 1000, Received: 400, RawSent: 984, RawReceived: 700,
		Failed: transport.Failures{Busy: 2}, Refused: transport.Refusals{Token: 3}}
	slog.New(slog.NewTextHandler(&log, nil)).Info("transport", "stats", s)
	if want := "stats.calls=7 stats.busy=2 stats.sent=1000 stats.received=400 stats.refused_token=3 stats.raw_received=700\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("%q, want it to end in %q", log.String(), want)
	}
}
