package transporttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// ledger is a server behind a relay that knows which requests it served.
type ledger struct {
	mu     sync.Mutex
	served map[string]int
}

func (l *ledger) handle(req []byte, reply *transport.Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.served[string(req)]++
	reply.Parts = [][]byte{append([]byte("seen: "), req...)}
}

func (l *ledger) count(req []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served[string(req)]
}

// safe is FastHTTP with checksums.
func safe(t testing.TB) transport.Transport {
	t.Helper()
	none, err := codec.ByName("none")
	law.Check(t, err)
	tr := transport.Compressed(&transport.FastHTTP{Checksum: true}, none, 0)
	t.Cleanup(tr.(transport.IdleCloser).CloseIdleConnections)
	return tr
}

// behind starts a ledger with a relay in front of it.
func behind(t *testing.T, endpoint string, seed uint64, faults transporttest.LineFaults) (*ledger, *transporttest.Relay) {
	t.Helper()
	book := &ledger{served: map[string]int{}}
	l, err := safe(t).Listen(endpoint)
	law.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- l.Serve(book.handle) }()
	relay, err := transporttest.NewRelay(l.Endpoint(), seed, faults)
	law.Check(t, err)
	t.Cleanup(func() {
		relay.Close()
		relay.Close()
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return book, relay
}

// TestBrokenLines calls through lines that break, flip bits or go dead. Whatever a call says must be true: an answer is the
// right one, a request that nobody saw was not served, and none was served twice.
//
// Promise: [G1] a push counts once over real connections that break
// Also: TestRelayedBreaks
func TestBrokenLines(t *testing.T) {
	law.Slow(t)
	for name, faults := range map[string]transporttest.LineFaults{
		"cut":        {Cut: 0.7},
		"cut early":  {Cut: 1, Within: 300},
		"flips":      {Corrupt: 1},
		"flips head": {Corrupt: 1, Within: 300},
		"all":        {HalfOpen: 0.1, Cut: 0.3, Corrupt: 0.3, Slow: 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transporttest.CheckLeaks(t)
			book, relay := behind(t, "127.0.0.1:0", 11, faults)
			client := safe(t)
			fine, failed := 0, 0
			for i := range 120 {
				req := bytes.Repeat(fmt.Appendf(nil, "push %d;", i), 1+i*i%1000)
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				err := client.Call(ctx, relay.Endpoint(), [][]byte{req}, func(answer []byte) error {
					if !bytes.Equal(answer, append([]byte("seen: "), req...)) {
						t.Errorf("call %d of %d bytes: a wrong answer of %d bytes", i, len(req), len(answer))
					}
					return nil
				})
				cancel()
				if i%2 == 0 {
					client.(transport.IdleCloser).CloseIdleConnections()
				}
				switch n := book.count(req); {
				case err == nil && n != 1, n > 1:
					t.Errorf("call %d was served %d times; %v", i, n, err)
				case errors.Is(err, transport.ErrUnreachable) && n > 0:
					t.Errorf("call %d was served, and the error denies it: %v", i, err)
				case err == nil:
					fine++
				default:
					failed++
				}
			}
			if counts := relay.Counts(); fine < 1 || failed < 3 || len(counts) == 0 {
				t.Errorf("%d calls were answered and %d failed; faults %v", fine, failed, counts)
			}
			book.mu.Lock()
			defer book.mu.Unlock()
			if len(book.served) > 120 {
				t.Errorf("%d requests were served, 120 were made: some were changed", len(book.served))
			}
		})
	}
}

// TestHealthyRelay puts no faults between client and a unix socket; the relay then is not noticed.
func TestHealthyRelay(t *testing.T) {
	transporttest.CheckLeaks(t)
	dir, err := os.MkdirTemp("", "s") // a socket's name is short, and t.TempDir's may be long
	law.Check(t, err)
	defer os.RemoveAll(dir)
	book, relay := behind(t, "unix:"+filepath.Join(dir, "s"), 1, transporttest.LineFaults{})
	client := safe(t)
	req := make([]byte, 1<<20)
	for range 20 {
		if err := client.Call(t.Context(), relay.Endpoint(), [][]byte{req}, func([]byte) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if n := book.count(req); n != 20 || len(relay.Counts()) != 0 {
		t.Errorf("%d of 20 served, faults %v", n, relay.Counts())
	}
}

// TestRelayToAClosedPort passes on to an endpoint where nobody listens.
func TestRelayToAClosedPort(t *testing.T) {
	transporttest.CheckLeaks(t)
	relay, err := transporttest.NewRelay("127.0.0.1:1", 1, transporttest.LineFaults{})
	law.Check(t, err)
	defer relay.Close()
	if err := safe(t).Call(t.Context(), relay.Endpoint(), nil, func([]byte) error { return nil }); err == nil {
		t.Error("nobody answered, and the call did not fail")
	}
}

// A program's own test meets a line that breaks: the call fails, and is made again.
func ExampleRelay() {
	server := &transport.FastHTTP{}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()
	relay, err := transporttest.NewRelay(l.Endpoint(), 7, transporttest.LineFaults{Cut: 0.5, Within: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, push := &transport.FastHTTP{}, [][]byte{make([]byte, 1000)}
	answered := 0
	for answered < 10 {
		if err := client.Call(context.Background(), relay.Endpoint(), push, func([]byte) error { return nil }); err == nil {
			answered++
			client.CloseIdleConnections() // so that the next call is made on a new line
		}
	}
	relay.Close()
	fmt.Println(answered, relay.Counts()["Cut"] > 0, l.Close(context.Background()), <-served)
	// Output: 10 true <nil> <nil>
}

// TestRelayedSitsTheExam has a transport with relays, and no faults, keep the contract.
func TestRelayedSitsTheExam(t *testing.T) {
	law.Slow(t)
	transporttest.Run(t, func() transport.Transport {
		return transporttest.NewRelayed(&transport.FastHTTP{MaxMessage: 9 << 20, Logger: slog.New(slog.DiscardHandler)}, 1, transporttest.LineFaults{})
	}, func() string { return "127.0.0.1:0" })
}

// TestRelayedBreaks repeats each call until it is answered; every one is, at last, with the right answer.
func TestRelayedBreaks(t *testing.T) {
	transporttest.CheckLeaks(t)
	none, err := codec.ByName("none")
	law.Check(t, err)
	under := transporttest.NewRelayed(&transport.FastHTTP{}, 3, transporttest.LineFaults{Cut: 0.5, Corrupt: 0.3, Within: 5000})
	defer under.CloseIdleConnections()
	tr := transport.Compressed(under, none, 0)
	book := &ledger{served: map[string]int{}}
	l, err := tr.Listen("127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- l.Serve(book.handle) }()
	failed := 0
	for i := range 50 {
		req := bytes.Repeat(fmt.Appendf(nil, "push %d;", i), 100)
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			err := tr.Call(ctx, l.Endpoint(), [][]byte{req}, func(answer []byte) error {
				if !bytes.Equal(answer, append([]byte("seen: "), req...)) {
					t.Errorf("call %d: a wrong answer of %d bytes", i, len(answer))
				}
				return nil
			})
			cancel()
			under.CloseIdleConnections() // a line that does not break would serve them all
			if err == nil {
				break
			}
			failed++
		}
	}
	if counts := under.Counts(); failed == 0 || counts["Cut"] == 0 || counts["Corrupt"] == 0 {
		t.Errorf("%d calls failed, faults %v", failed, counts)
	}
	if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
		t.Error(err)
	}
	if under.Counts()["Cut"] == 0 {
		t.Error("what a relay counted is forgotten when it is closed")
	}
}
