package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec/codectest"
)

// headOf begins a request of n bytes.
func headOf(n int) string {
	return fmt.Sprintf("POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: %d\r\n\r\n", n)
}

// ends fails the test unless the server closes the connection.
func ends(t *testing.T, what string, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		t.Errorf("%s: the connection is still open", what)
	}
}

// TestHalfBodies announces bodies of every size and sends a part: the connection ends after StallTimeout.
func TestHalfBodies(t *testing.T) {
	law.Slow(t)
	endpoint, calls := start(t, &transport.FastHTTP{StallTimeout: 50 * time.Millisecond}, "127.0.0.1:0")
	for _, n := range []int{10, 50_000, 100_000, mb, 2 * mb} {
		for _, sent := range []int{0, 5, min(n-1, 20_000), n - 1} {
			ends(t, fmt.Sprintf("%d bytes of %d", sent, n), dial(t, endpoint, headOf(n)+strings.Repeat("x", sent)))
		}
	}
	if calls.Load() > 0 {
		t.Error("half a body was served")
	}
}

// TestAnnouncedBytesTakeNoRoom has strangers announce a megabyte each, many times what the server holds, and stop after 30 kB: others
// are served meanwhile. There is room for two requests, since a client has its answer a moment before the server counts the first as done.
//
// Promise: [G12] what a stranger announces or packs small takes no room and next to no memory before it has shown a
// frame of this job; every body has a deadline
// Also: TestHalfBodies, TestScreen, TestMixedCodecs, TestAnnouncement, TestInFlight
func TestAnnouncedBytesTakeNoRoom(t *testing.T) {
	law.Slow(t)
	server := &transport.FastHTTP{MaxInFlight: 10 * mb}
	endpoint, _ := start(t, server, "127.0.0.1:0")
	for range 50 {
		dial(t, endpoint, headOf(mb)+strings.Repeat("x", 30_000))
	}
	client := &transport.FastHTTP{}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 20 {
		law.Check(t, <-send(client, ctx, endpoint, 5*mb))
	}
	if s := server.Stats(); s.ServedWaited > 0 || s.Served != 20 {
		t.Errorf("%+v", s)
	}
}

// TestRefusedRequestsEndConnections: who was refused, by the transport or by the handler as no client of its, keeps no connection.
//
// Promise: [G12] refused clients keep no connection, and the log says why, at intervals and without tokens
// Also: TestRefusalsAreLogged
func TestRefusedRequestsEndConnections(t *testing.T) {
	server := &transport.FastHTTP{MaxMessage: 1000, Cluster: "day", Logger: quietLogger()}
	stranger := func(req []byte, reply *transport.Reply) {
		reply.Parts, reply.Stranger = [][]byte{[]byte("who are you?")}, true
	}
	for _, tr := range []transport.Transport{server, transport.Compressed(server, byName(t, "none"), 0)} {
		l, err := tr.Listen("127.0.0.1:0")
		law.Check(t, err)
		served := make(chan error, 1)
		go func() { served <- l.Serve(stranger) }()
		const cluster = "\r\nGofleet-Cluster: day\r\n\r\n"
		for what, request := range map[string]string{
			"not ours":        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
			"another cluster": headOf(1) + "x",
			"too large":       strings.Replace(headOf(2000), "\r\n\r\n", cluster, 1) + strings.Repeat("x", 2000),
			"a stranger":      strings.Replace(headOf(17), "\r\n\r\n", cluster, 1) + "\x00\x00\x01" + strings.Repeat("\x00", 13) + "x",
		} {
			ends(t, what, dial(t, l.Endpoint(), request))
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestStrangersMakePlace: who has been served nothing gives up its place to newcomers, and who has keeps it; the log says so.
//
// Promise: [G12] connections are bounded in number and end when nothing is asked on them, strangers' first
// Also: TestFirstRequestsAreBounded, TestEveryFieldActs
func TestStrangersMakePlace(t *testing.T) {
	var log lines
	endpoint, calls := start(t, &transport.FastHTTP{MaxConns: 4, Logger: slog.New(slog.NewTextHandler(&log, nil))}, "127.0.0.1:0")
	client := &transport.FastHTTP{}
	defer client.CloseIdleConnections()
	closed := make(chan error, 50)
	for range 50 {
		silent := dial(t, endpoint, "")
		go func() {
			_, err := silent.Read(make([]byte, 1))
			closed <- err
		}()
		if _, err := ask(client, endpoint, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 - 3 {
		<-closed
	}
	if dials := client.Stats().Dials; dials != 1 || calls.Load() != 50 {
		t.Errorf("a client needed %d connections for %d calls among strangers", dials, calls.Load())
	}
	if n := log.count("level=WARN", "one of 4, was closed for another"); n != 1 {
		t.Errorf("%d lines say that there are too many connections:\n%s", n, log.log.String())
	}
}

// TestFirstRequestsAreBounded: strangers that begin requests and don't end them give way to each other, and to whoever comes.
func TestFirstRequestsAreBounded(t *testing.T) {
	law.Slow(t)
	endpoint, calls := start(t, &transport.FastHTTP{Logger: quietLogger()}, "127.0.0.1:0")
	begun := strings.Repeat("x", 10_000) // so much is read before a request is judged
	closed := make(chan error, 1100)
	for range 1100 { // of 64 KiB each, of which 1,024 have room
		half := dial(t, endpoint, headOf(64<<10)+begun)
		go func() {
			_, err := half.Read(make([]byte, 1))
			closed <- err
		}()
	}
	for range 1100 - 1024 {
		<-closed
	}
	client := &transport.FastHTTP{}
	defer client.CloseIdleConnections()
	if _, err := ask(client, endpoint, "x"); err != nil || calls.Load() != 1 {
		t.Errorf("%d requests were served: %v", calls.Load(), err)
	}
}

// TestScreen: large requests are judged by how they begin, behind an envelope and by TLS too, before their bytes take room; small ones are not.
func TestScreen(t *testing.T) {
	law.Slow(t)
	screen := func(first []byte) error {
		if len(first) < 64 || !bytes.HasPrefix(first, []byte("friend")) {
			return errors.New("who are you?")
		}
		return nil
	}
	dir := certificates(t)
	for _, name := range []string{"", "none", "s2", "tls", "tls none", "tls s2"} {
		server, client := &transport.FastHTTP{MaxInFlight: 5 * mb, Logger: quietLogger()}, &transport.FastHTTP{}
		var tr transport.Transport = server
		if strings.HasPrefix(name, "tls") {
			server.TLSDir, client.TLSDir, name = dir, dir, strings.TrimPrefix(strings.TrimPrefix(name, "tls"), " ")
		}
		var caller transport.Transport = client
		if name != "" {
			tr, caller = transport.Compressed(server, byName(t, name), 0), transport.Compressed(client, byName(t, name), 0)
		}
		l, err := tr.Listen("127.0.0.1:0")
		law.Check(t, err)
		served := make(chan error, 1)
		go func() {
			echo := func(req []byte, reply *transport.Reply) { reply.Parts = [][]byte{bytes.Clone(req)} }
			served <- transport.ServeScreened(l, echo, screen)
		}()
		noise := codectest.Messages()["noise 65537"] // so that it is sent as it is
		if _, err := ask(caller, l.Endpoint(), "a small stranger"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := ask(caller, l.Endpoint(), "friend"+string(noise)); err != nil {
			t.Errorf("%q: a friend: %v", name, err)
		}
		_, err = ask(caller, l.Endpoint(), "fiend"+string(noise))
		if !errors.Is(err, transport.ErrUnreachable) || !strings.Contains(err.Error(), "who are you?") {
			t.Errorf("%q: a stranger: %v, want ErrUnreachable", name, err)
		}
		if name == "s2" {
			bomb := "fiend" + strings.Repeat("z", mb) // of a few kilobytes
			if _, err := ask(caller, l.Endpoint(), bomb); !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "who are you?") {
				t.Errorf("a stranger whose message decodes to much: %v, want ErrRefused", err)
			}
			if _, err := ask(caller, l.Endpoint(), "friend"+bomb); err != nil {
				t.Errorf("a friend whose message decodes to much: %v", err)
			}
		}
		for range 20 {
			dial(t, l.Endpoint(), headOf(mb)+strings.Repeat("x", 100_000))
		}
		if _, err := ask(caller, l.Endpoint(), "friend"+strings.Repeat(string(noise), 60)); err != nil {
			t.Errorf("%q: a friend among strangers: %v", name, err)
		}
		if s := server.Stats(); s.Refused.Stranger == 0 || s.ServedWaited > 0 {
			t.Errorf("%q: %+v", name, s)
		}
		client.CloseIdleConnections()
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
	}
}

// lines is a log that many goroutines write.
type lines struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(b)
}

func (l *lines) count(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.log.String()) {
		has := true
		for _, w := range words {
			has = has && strings.Contains(line, w)
		}
		if has {
			n++
		}
	}
	return n
}

// TestRefusalsAreLogged: the server's log says once in a while that requests are refused, and why, however many they are.
func TestRefusalsAreLogged(t *testing.T) {
	var log lines
	server := &transport.FastHTTP{Token: "secret", MaxInFlight: 5 * mb, StallTimeout: 50 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	endpoint, arrived, release, _ := holding(t, server)
	for range 5 {
		if _, err := ask(&transport.FastHTTP{Token: "guess"}, endpoint, "x"); err == nil {
			t.Error("a wrong token was let in")
		}
	}
	client := &transport.FastHTTP{Token: "secret"}
	defer client.CloseIdleConnections()
	first := send(client, t.Context(), endpoint, 4*mb)
	<-arrived
	for range 3 {
		if err := <-send(client, t.Context(), endpoint, 4*mb); err == nil {
			t.Error("there was room")
		}
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	for _, words := range [][]string{{"level=WARN", "request refused", "from=127.0.0.1", "FLEET_TOKEN"}, {"level=WARN", "request refused", "MaxInFlight"}} {
		if n := log.count(words...); n != 1 {
			t.Errorf("%d lines have %q:\n%s", n, words, log.log.String())
		}
	}
	if log.count("guess") > 0 || log.count("secret") > 0 {
		t.Errorf("a token is in the log:\n%s", log.log.String())
	}
}
