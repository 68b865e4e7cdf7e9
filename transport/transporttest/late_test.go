package transporttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// TestHalfOpen has an endpoint fall silent for a minute: other calls meet it too, and it comes back.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, net := open(t)
		faulty := transporttest.NewFaulty(net, 5, transporttest.Faults{HalfOpen: 0.1, MaxDelay: time.Minute})
		silent := 0
		for start := time.Now(); time.Since(start) < time.Hour; {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := call(ctx, faulty, fmt.Sprint(len(o.seen))); err != nil {
				silent++
			}
			cancel()
			time.Sleep(time.Second)
		}
		if counts := faulty.Counts(); counts["HalfOpen"] != silent || silent < 300 || len(o.seen) < 100 {
			t.Errorf("%d calls met silence and %d an answer; counts %v", silent, len(o.seen), counts)
		}
	})
}

// TestLatencyOrders has workers call at the same moments, with numbers that differ in every run: their calls arrive in the same
// order in two runs of a seed, and meet the same faults, and in another order with another seed.
func TestLatencyOrders(t *testing.T) {
	run := func(seed uint64) (order []string) {
		synctest.Test(t, func(t *testing.T) {
			o, net := open(t)
			faulty := transporttest.NewFaulty(net, seed, transporttest.Faults{LoseRequest: 0.2, Latency: time.Millisecond})
			name := func(req []byte) string { return strings.Split(string(req), ":")[0] }
			faulty.Name = func(req [][]byte) string { return name(req[0]) }
			var all sync.WaitGroup
			for worker := range 8 {
				all.Go(func() {
					for range 10 {
						_, _ = call(t.Context(), faulty, fmt.Sprintf("worker %d: %d", worker, rand.Uint64()))
						time.Sleep(time.Second)
					}
				})
			}
			all.Wait()
			for _, req := range o.seen {
				order = append(order, name([]byte(req)))
			}
		})
		return order
	}
	first, again, other := run(1), run(1), run(2)
	if !slices.Equal(first, again) || slices.Equal(first, other) || len(first) == 80 {
		t.Errorf("one seed:\n%q\n%q\nand another:\n%q", first, again, other)
	}
}

// TestLateDoesNotBlock has a late message wait, in its handler, for the call that comes after it, as a push of a round waits
// for the others.
func TestLateDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := transport.NewMemory()
		faulty := transporttest.NewFaulty(net, 1, transporttest.Faults{Late: 1, MaxDelay: time.Second})
		l, err := faulty.Listen("server")
		law.Check(t, err)
		second, seen := make(chan struct{}), make(chan string, 10)
		served := make(chan error, 1)
		var firsts atomic.Int32
		go func() {
			served <- l.Serve(func(req []byte, _ *transport.Reply) {
				if string(req) == "first" && firsts.Add(1) == 2 {
					<-second
				}
				if string(req) == "second" {
					close(second)
				}
				seen <- string(req)
			})
		}()
		start := time.Now()
		for _, req := range []string{"first", "second"} {
			if _, err := call(t.Context(), faulty, req); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if took := time.Since(start); took != time.Second || len(seen) != 3 {
			t.Errorf("%d messages seen after %v, want 3 after MaxDelay", len(seen), took)
		}
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
	})
}

// TestLateEnds leaves a late message in a handler that nobody will answer; Close ends it.
func TestLateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, release := transport.NewMemory(), make(chan struct{})
		l, err := net.Listen("server")
		law.Check(t, err)
		var seen atomic.Int32
		served := make(chan error, 1)
		go func() {
			served <- l.Serve(func([]byte, *transport.Reply) {
				if seen.Add(1) == 2 {
					<-release
				}
			})
		}()
		faulty := transporttest.NewFaulty(net, 1, transporttest.Faults{Late: 1})
		for range 2 {
			if _, err := call(t.Context(), faulty, "push"); err != nil {
				t.Error(err)
			}
		}
		faulty.Close()
		faulty.Close()
		close(release)
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
		if seen.Load() != 3 {
			t.Errorf("%d messages seen, want two and a late one", seen.Load())
		}
	})
}

// TestSpoiltMessagesAreRefused puts faults that change messages below Compressed: what arrives, arrives as it was sent.
func TestSpoiltMessagesAreRefused(t *testing.T) {
	_, net := open(t)
	none, err := codec.ByName("none")
	law.Check(t, err)
	l, err := transport.Compressed(net, none, 0).Listen("safe")
	law.Check(t, err)
	served := make(chan error, 1)
	var wrong atomic.Int32
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			if !bytes.Equal(req, bytes.Repeat([]byte("g"), len(req))) || len(req)%100 != 0 {
				wrong.Add(1)
			}
			reply.Parts = [][]byte{append([]byte(nil), req...)}
		})
	}()
	faulty := transporttest.NewFaulty(net, 9, transporttest.Faults{Corrupt: 0.4, Cut: 0.4})
	safe := transport.Compressed(faulty, none, 0)
	spoilt := 0
	for i := range 300 {
		want := bytes.Repeat([]byte("g"), 100*i)
		err := safe.Call(t.Context(), "safe", [][]byte{want}, func(got []byte) error {
			if !bytes.Equal(got, want) {
				t.Errorf("an answer of %d bytes for %d was taken for right", len(got), len(want))
			}
			return nil
		})
		if errors.Is(err, transport.ErrCorrupt) {
			spoilt++
		} else if err != nil {
			t.Error(err)
		}
	}
	if wrong.Load() > 0 {
		t.Errorf("%d spoilt requests were served", wrong.Load())
	}
	if spoilt < 150 || spoilt > 250 { // 1 - 0.6²: 192
		t.Errorf("%d of 300 calls were spoilt", spoilt)
	}
	if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
		t.Error(err)
	}
}
