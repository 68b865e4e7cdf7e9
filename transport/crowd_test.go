package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// TestThousandConnections has a thousand calls at once, keeps their connections, and looks at what they hold while they are
// idle; the server must answer as before, and close at once.
func TestThousandConnections(t *testing.T) {
	law.Slow(t)
	const many = 1000
	server, client := &transport.FastHTTP{}, &transport.FastHTTP{IdleConns: many}
	l, err := server.Listen("127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error, 1)
	var all sync.WaitGroup
	all.Add(many)
	go func() {
		served <- l.Serve(func(req []byte, _ *transport.Reply) {
			if len(req) == 0 {
				all.Done()
				all.Wait()
			}
		})
	}()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var calls sync.WaitGroup
	for range many {
		calls.Go(func() {
			if err := client.Call(t.Context(), l.Endpoint(), nil, func([]byte) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if s := client.Stats(); s.Dials != many || s.Calls != many {
		t.Errorf("%d connections for %d calls", s.Dials, s.Calls)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapInuse) - int64(before.HeapInuse)) / many
	t.Logf("an idle connection holds %d bytes of heap on both sides together", each)
	if each > 400<<10 {
		t.Errorf("an idle connection holds %d bytes", each)
	}
	for range 100 {
		if _, err := ask(client, l.Endpoint(), "still there"); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := errors.Join(l.Close(ctx), <-served); err != nil {
		t.Error(err)
	}
	client.CloseIdleConnections()
}

// TestSlowHeads opens connections that say nothing, or a piece of a head now and then: they end after StallTimeout, one that has
// been let in and is idle does not.
func TestSlowHeads(t *testing.T) {
	server := &transport.FastHTTP{StallTimeout: 100 * time.Millisecond, Token: "secret"}
	endpoint, _ := start(t, server, "127.0.0.1:0")
	const head = "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: 1\r\n"
	const let = head + "Authorization: Bearer secret\r\n\r\nx"
	friend := dial(t, endpoint, let)
	if answer := readOnce(t, friend); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Fatalf("a friend is answered with %q", answer)
	}
	for name, say := range map[string][]string{
		"nothing":               nil,
		"a piece":               {"POST /gofl"},
		"two pieces":            {"POST /gofl", "eet/1 HTTP"},
		"a friend's next piece": {let, head[:20]},
		"no token":              {head + "\r\nx"},
		"no token, and more":    {head + "\r\nx", head[:20]},
	} {
		conn := dial(t, endpoint, "")
		for i, piece := range say {
			if _, err := io.WriteString(conn, piece); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if i == 0 && strings.HasSuffix(piece, "x") {
				readOnce(t, conn)
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && isTimeout(err) {
			t.Errorf("%s: the connection is still open", name)
		}
	}
	if _, err := io.WriteString(friend, let); err != nil {
		t.Fatal(err)
	}
	if answer := readOnce(t, friend); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Errorf("a friend that was idle is answered with %q", answer)
	}
}

// readOnce reads an answer that fits into one packet.
func readOnce(t *testing.T, conn net.Conn) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer := make([]byte, 4096)
	n, err := conn.Read(answer)
	law.Check(t, err)
	return string(answer[:n])
}
