package transport_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// holding serves with a handler that holds what it gets until release is closed, and says how much it holds at most.
func holding(t *testing.T, tr *transport.FastHTTP) (endpoint string, arrived chan int, release chan struct{}, most *atomic.Int64) {
	t.Helper()
	arrived, release, most = make(chan int, 100), make(chan struct{}), new(atomic.Int64)
	var held atomic.Int64
	l, err := tr.Listen("127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, _ *transport.Reply) {
			now := held.Add(int64(len(req)))
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			arrived <- len(req)
			if len(req) > 100 {
				<-release
			}
			held.Add(int64(-len(req)))
		})
	}()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return l.Endpoint(), arrived, release, most
}

// send calls from a goroutine of its own.
func send(tr transport.Transport, ctx context.Context, endpoint string, n int) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- tr.Call(ctx, endpoint, [][]byte{make([]byte, n)}, func([]byte) error { return nil })
	}()
	return done
}

const mb = 1 << 20

// TestServerHoldsNoMore has eight workers send 4 MB each to a server that holds 9 MB: two get in, small messages too, and the
// others when there is room.
func TestServerHoldsNoMore(t *testing.T) {
	server := &transport.FastHTTP{MaxInFlight: 9 * mb}
	endpoint, arrived, release, most := holding(t, server)
	client := &transport.FastHTTP{}
	defer client.CloseIdleConnections()
	var calls []<-chan error
	for range 8 {
		calls = append(calls, send(client, t.Context(), endpoint, 4*mb))
	}
	<-arrived
	<-arrived
	for i := range 20 {
		if err := <-send(client, t.Context(), endpoint, 10); err != nil {
			t.Errorf("heartbeat %d: %v", i, err)
		}
		if n := <-arrived; n != 10 {
			t.Fatalf("a request of %d bytes was read while 8 MB of 9 were held", n)
		}
	}
	if n := server.Stats().Serving; n < 2 {
		t.Errorf("%d requests are counted as being served, want two at least", n)
	}
	close(release)
	for _, call := range calls {
		if err := <-call; err != nil {
			t.Error(err)
		}
	}
	if n := most.Load(); n > 9*mb+10 {
		t.Errorf("the handlers held %d bytes at once", n)
	}
	if s := server.Stats(); s.ServedWaited == 0 || s.ServedReceived != 32*mb+200 || s.Refused != (transport.Refusals{}) {
		t.Errorf("%+v", s)
	}
}

// TestBusy gives up on a server whose handlers hold everything: the error says so, that nobody saw the request, and it is
// counted; afterwards the server is as good as new.
func TestBusy(t *testing.T) {
	server := &transport.FastHTTP{MaxInFlight: 5 * mb, StallTimeout: 300 * time.Millisecond}
	endpoint, arrived, release, _ := holding(t, server)
	client := &transport.FastHTTP{}
	defer client.CloseIdleConnections()
	first := send(client, t.Context(), endpoint, 4*mb)
	<-arrived
	err := <-send(client, t.Context(), endpoint, 2*mb)
	if !errors.Is(err, transport.ErrBusy) || !errors.Is(err, transport.ErrUnreachable) || errors.Is(err, transport.ErrRefused) {
		t.Errorf("%v, want ErrBusy and ErrUnreachable", err)
	}
	for _, word := range []string{endpoint, "2097152", "5242880", "MaxInFlight"} {
		if err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("%v: it should speak of %s", err, word)
		}
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-send(client, t.Context(), endpoint, 5*mb); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if s := server.Stats(); s.Refused.Busy != 1 || s.Served != 2 {
		t.Errorf("the server counts %+v", s)
	}
	if s := client.Stats(); s.Failed.Busy != 1 || s.Failed.Unreachable != 0 || s.Calls != 3 || s.InFlightBytes != 0 {
		t.Errorf("the client counts %+v", s)
	}
}

// TestCloseEndsWaits closes a listener while a request waits for room: it is told that nobody saw it, long before StallTimeout.
func TestCloseEndsWaits(t *testing.T) {
	server, client := &transport.FastHTTP{MaxInFlight: 5 * mb}, &transport.FastHTTP{}
	l, err := server.Listen("127.0.0.1:0")
	law.Check(t, err)
	arrived, release, served := make(chan struct{}, 2), make(chan struct{}), make(chan error, 1)
	go func() {
		served <- l.Serve(func([]byte, *transport.Reply) {
			arrived <- struct{}{}
			<-release
		})
	}()
	first := send(client, t.Context(), l.Endpoint(), 4*mb)
	<-arrived
	second := send(client, t.Context(), l.Endpoint(), 4*mb)
	closed := make(chan error, 1)
	go func() { closed <- l.Close(t.Context()) }()
	if err := <-second; !errors.Is(err, transport.ErrUnreachable) && !strings.Contains(fmt.Sprint(err), "connection broke") {
		t.Errorf("%v, want an error that asks to be repeated", err)
	}
	close(release)
	if err := errors.Join(<-first, <-closed, <-served); err != nil {
		t.Error(err)
	}
	if len(arrived) > 0 {
		t.Error("the second request was served")
	}
}

// TestCallsWaitForRoom bounds what a client has under way to one endpoint: the third call waits, one to another endpoint
// does not, and one whose ctx ends says what it waited for.
func TestCallsWaitForRoom(t *testing.T) {
	client := &transport.FastHTTP{MaxInFlight: 9 * mb}
	defer client.CloseIdleConnections()
	endpoint, arrived, release, most := holding(t, &transport.FastHTTP{})
	other, _ := start(t, &transport.FastHTTP{}, "127.0.0.1:0")
	first, second := send(client, t.Context(), endpoint, 4*mb), send(client, t.Context(), endpoint, 4*mb)
	<-arrived
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := <-send(client, ctx, endpoint, 4*mb)
	if !errors.Is(err, transport.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want ErrUnreachable and context.DeadlineExceeded", err)
	}
	for _, word := range []string{endpoint, "no room", "MaxInFlight"} {
		if err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("%v: it should speak of %s", err, word)
		}
	}
	third := send(client, t.Context(), endpoint, 4*mb)
	if err := <-send(client, t.Context(), other, 4*mb); err != nil {
		t.Errorf("another endpoint: %v", err)
	}
	close(release)
	for _, call := range []<-chan error{first, second, third} {
		if err := <-call; err != nil {
			t.Error(err)
		}
	}
	if s := client.Stats(); most.Load() > 9*mb || s.Waited == 0 || s.InFlight != 0 || s.Sent != 16*mb {
		t.Errorf("the server held %d bytes; the client counts %+v", most.Load(), s)
	}
}

// TestTrickle sends the head of a large request and then nearly nothing: it loses its connection, and its room.
func TestTrickle(t *testing.T) {
	server := &transport.FastHTTP{MaxInFlight: 5 * mb, StallTimeout: 50 * time.Millisecond}
	endpoint, _, _, _ := holding(t, server)
	conn := dial(t, endpoint, "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-gofleet\r\nContent-Length: 5000000\r\n\r\n"+
		strings.Repeat("x", 20_000))
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer := make([]byte, 100)
	n, err := conn.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 503") {
		t.Fatalf("%q, %v; want to be told", answer[:n], err)
	}
	if s := server.Stats(); s.Serving != 0 || s.ServingBytes != 0 || s.Served != 0 {
		t.Errorf("%+v", s)
	}
}

// TestDecodedBytesAreBounded sends small messages that decode to large ones: what is decoded at once is bounded as well.
func TestDecodedBytesAreBounded(t *testing.T) {
	law.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		net := &transport.Memory{MaxMessage: 10 * mb} // so the bound is 40 MB
		z := transport.Compressed(net, byName(t, "s2"), 0).(metered)
		l, err := z.Listen("server:0")
		law.Check(t, err)
		release, served := make(chan struct{}), make(chan error, 1)
		var inside atomic.Int32
		go func() {
			served <- l.Serve(func([]byte, *transport.Reply) {
				inside.Add(1)
				<-release
			})
		}()
		var calls []<-chan error
		for range 6 {
			calls = append(calls, send(z, t.Context(), l.Endpoint(), 9*mb))
		}
		synctest.Wait()
		if n := inside.Load(); n != 4 {
			t.Errorf("%d requests of 9 MB are decoded, the bound is 40", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		close(release)
		busy := 0
		for _, call := range calls {
			if err := <-call; errors.Is(err, transport.ErrBusy) && errors.Is(err, transport.ErrUnreachable) {
				busy++
			} else if err != nil {
				t.Error(err)
			}
		}
		if s := z.Stats(); busy != 2 || s.Refused.Busy != 2 || s.Failed.Busy != 2 {
			t.Errorf("%d calls were turned away, want 2: %+v", busy, s)
		}
		if err := <-send(z, t.Context(), l.Endpoint(), 9*mb); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
	})
}
