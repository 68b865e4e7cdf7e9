package collective_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// says fails the test unless the error is of that kind and has all the words.
func says(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want one that is %v", err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %v does not say %q", err, w)
		}
	}
}

func TestDifferentCallsAreNamed(t *testing.T) {
	for _, other := range []func(context.Context, *collective.Group) error{
		func(ctx context.Context, g *collective.Group) error { return g.Barrier(ctx) },
		func(ctx context.Context, g *collective.Group) error { _, err := g.AllGather(ctx, nil); return err },
		func(ctx context.Context, g *collective.Group) error {
			return collective.AllReduce(ctx, g, collective.Max, make([]float64, 10))
		},
		func(ctx context.Context, g *collective.Group) error {
			return collective.AllReduce(ctx, g, collective.Sum, make([]float32, 11))
		},
	} {
		errs := run(t, hasty(onMemory(t, 3)), func(ctx context.Context, g *collective.Group) error {
			if g.Rank() == 1 {
				return other(ctx, g)
			}
			return collective.AllReduce(ctx, g, collective.Sum, make([]float32, 10))
		})
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "ranks make different calls") || !strings.Contains(err.Error(), "worker-1:1") {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	}
}

// TestDeathIsNamed: a rank whose process is gone ends the others, which say which one it was.
//
// Promise: [G5] a rank that dies is named by all others
func TestDeathIsNamed(t *testing.T) {
	for name, network := range networks() {
		t.Run(name, func(t *testing.T) {
			c := hasty(network(t, 3))
			errs := run(t, c, func(ctx context.Context, g *collective.Group) error {
				if err := g.Barrier(ctx); err != nil {
					return err
				}
				if g.Rank() == 2 {
					return g.Close(ctx, nil) // without a word
				}
				_, err := g.AllGather(ctx, nil)
				return err
			})
			for rank := range 2 {
				says(t, errs[rank], collective.ErrDead, "rank 2 ("+c.Endpoints[2]+")")
			}
		})
	}
}

// TestEndedProcessIsNoticedAtOnce has the sockets of a rank close while the others' patience is long, after it has given its part of
// what they wait for.
//
// Promise: [G4] a wait for ranks of a collective job ends and names them
// Also: TestRanksThatOweResultsAreNamed, TestJoinSaysWhoIsMissing, TestWaitEnds
func TestEndedProcessIsNoticedAtOnce(t *testing.T) {
	c := hasty(networks()["FastHTTP"](t, 3))
	c.SilenceTimeout, c.WaitTimeout = time.Hour, time.Hour
	gone := make(chan struct{})
	errs := run(t, c, func(ctx context.Context, g *collective.Group) error {
		if g.Rank() == 2 {
			err := g.Barrier(ctx)
			close(gone)
			return errors.Join(err, g.Close(ctx, nil))
		}
		if err := g.Barrier(ctx); err != nil {
			return err
		}
		<-gone
		return collective.AllReduce(ctx, g, collective.Sum, make([]float32, 10))
	})
	for rank := range 2 {
		says(t, errs[rank], collective.ErrDead, "rank 2 ("+c.Endpoints[2]+")", "has ended")
	}
}

// TestRanksThatOweResultsAreNamed: a rank that came and gave its part, and whose results don't arrive, is named as one that is missing is.
func TestRanksThatOweResultsAreNamed(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		c := onMemory(t, 2)
		c.Transport = &deaf{Transport: c.Transport, endpoint: c.Endpoints[1]}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		errs := run(t, c, func(ctx context.Context, g *collective.Group) error {
			if err := g.Barrier(ctx); err != nil {
				return err
			}
			c.Transport.(*deaf).on.Store(true)
			return collective.AllReduce(ctx, g, collective.Sum, make([]float32, 10))
		})
		for _, err := range errs { // the one that ends first tells the other
			says(t, err, collective.ErrDead, "waited 15m0s at all-reduce 2")
			if strings.Contains(err.Error(), "nobody") {
				t.Error(err)
			}
		}
	})
	if !strings.Contains(log.String(), `for="rank 1 (worker-1:1, last seen`) || strings.Contains(log.String(), "for=nobody") {
		t.Errorf("the log is\n%s", log.String())
	}
}

// deaf is a network on which calls to an endpoint get no answer.
type deaf struct {
	transport.Transport
	endpoint string
	on       atomic.Bool
}

func (d *deaf) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if d.on.Load() && endpoint == d.endpoint {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return d.Transport.Call(ctx, endpoint, req, read)
}

// TestReasonTravels: a rank that fails says why to the others, wherever they wait.
func TestReasonTravels(t *testing.T) {
	broken := errors.New("disk is full")
	c := onMemory(t, 3)
	errs := run(t, c, func(ctx context.Context, g *collective.Group) error {
		if g.Rank() == 1 {
			return broken
		}
		return g.Barrier(ctx)
	})
	says(t, errs[1], broken)
	says(t, errs[0], collective.ErrDead, "rank 1 (worker-1:1)", "disk is full")
	says(t, errs[2], collective.ErrDead, "rank 1 (worker-1:1)", "disk is full")
}

func TestEndOfContextEndsAll(t *testing.T) {
	tired := errors.New("tired of waiting")
	errs := run(t, onMemory(t, 2), func(ctx context.Context, g *collective.Group) error {
		if g.Rank() == 1 {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(tired)
			return g.Barrier(ctx)
		}
		return g.Barrier(ctx)
	})
	says(t, errs[1], tired)
	says(t, errs[0], collective.ErrDead, "rank 1", "tired of waiting")
}

// TestWaitEnds: a rank that lives and does not come ends the wait, with its name and what was waited for.
func TestWaitEnds(t *testing.T) {
	c := hasty(onMemory(t, 2))
	c.WaitTimeout = 200 * time.Millisecond
	errs := run(t, c, func(ctx context.Context, g *collective.Group) error {
		if g.Rank() == 0 {
			return collective.AllReduce(ctx, g, collective.Sum, make([]float32, 10))
		}
		_, err := g.AllGather(ctx, nil)
		for err == nil { // it is there and does something else, as long as the others
			err = g.Barrier(ctx)
		}
		return err
	})
	if errs[0] == nil || errs[1] == nil {
		t.Fatalf("no error: %v", errs)
	}
	stuck := make(chan struct{})
	errs = run(t, c, func(ctx context.Context, g *collective.Group) error {
		if g.Rank() == 1 {
			<-stuck
			return errors.New("came too late")
		}
		defer close(stuck)
		return collective.AllReduce(ctx, g, collective.Sum, make([]float32, 10))
	})
	says(t, errs[0], collective.ErrDead, "all-reduce 1 (sum of 10 float32)", "missing rank 1 (worker-1:1", "last seen")
}

func TestJoinSaysWhoIsMissing(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		c := onMemory(t, 2)
		c.StartTimeout, c.Logger = 8*time.Second, slog.New(slog.NewTextHandler(&log, nil))
		g, err := collective.New(t.Context(), c)
		law.Check(t, err)
		says(t, g.Join(t.Context()), collective.ErrDead, "rank 1")
		if err := g.Close(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []string{"waited=3s", "waited=6s", `"not ready"="rank 1 (worker-1:1, never seen)"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, log.String())
		}
	}
}

func TestJoinNamesWhoIsMissing(t *testing.T) {
	c := hasty(onMemory(t, 3))
	c.StartTimeout = 100 * time.Millisecond
	groups := map[int]*collective.Group{}
	for _, r := range []int{0, 2} {
		own := c
		own.Rank = r
		g, err := collective.New(t.Context(), own)
		law.Check(t, err)
		defer g.Close(t.Context(), nil)
		groups[r] = g
	}
	says(t, groups[0].Join(t.Context()), collective.ErrDead, "for rank 1 (worker-1:1, never seen) to start")
}

// TestRestartIsNoticed: a process in another's place has lost what the others count on.
func TestRestartIsNoticed(t *testing.T) {
	c := hasty(onMemory(t, 2))
	restarted := make(chan struct{})
	errs := run(t, c, func(ctx context.Context, g *collective.Group) error {
		if g.Rank() == 0 {
			err := g.Barrier(ctx)
			<-restarted
			return errors.Join(err, g.Barrier(ctx))
		}
		defer close(restarted)
		own := c
		own.Rank = 1
		if err := g.Barrier(ctx); err != nil { // rank 0 has joined
			return errors.Join(err, g.Close(ctx, nil))
		}
		if err := g.Close(ctx, nil); err != nil {
			return err
		}
		again, err := collective.New(t.Context(), own)
		if err != nil {
			return err
		}
		err = again.Join(ctx)
		says(t, err, collective.ErrDead, "rank 1 (worker-1:1) was started again", "start all of them again")
		return again.Close(ctx, nil)
	})
	says(t, errs[0], collective.ErrDead, "rank 1 (worker-1:1) was started again")
}

// TestStrangersAreRefused: messages of another job, another protocol or another number of ranks change nothing.
func TestStrangersAreRefused(t *testing.T) {
	c := onMemory(t, 2)
	part := make([]byte, 88) // of rank 1 of 2, generation 0, collective 2
	copy(part, "gfc1\x03\x02\x01\x03")
	part[16], part[36], part[40] = 2, 1, 2
	with := func(at int, b byte) []byte {
		m := slices.Clone(part)
		m[at] = b
		return m
	}
	mustRun(t, c, func(ctx context.Context, g *collective.Group) error {
		if err := g.Barrier(ctx); err != nil {
			return err
		}
		if g.Rank() == 0 {
			for want, msg := range map[string][]byte{
				"generation 0": part, "generation 1": with(8, 1), "version 9": with(4, 9), "is of rank 1 of 3": with(40, 3),
				"is of rank 0 of 2": with(36, 0), "starts with": with(0, 'G'), "a header has 88": part[:87], "verb 77": with(5, 77),
			} {
				err := c.Transport.Call(ctx, g.Endpoint(), [][]byte{msg}, func(b []byte) error {
					if b[5] == 0 || !strings.Contains(string(b[32:]), want) {
						t.Errorf("status %d: %q, want %q", b[5], b[32:], want)
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return g.Barrier(ctx)
	})
}

func TestMisuse(t *testing.T) {
	ctx := t.Context()
	if _, err := collective.New(t.Context(), collective.Config{Rank: 2, Endpoints: []string{"a", "b"}, Transport: transport.NewMemory()}); err == nil {
		t.Error("rank 2 of 2 was accepted")
	}
	g, err := collective.New(t.Context(), onMemory(t, 2))
	law.Check(t, err)
	if err := g.Barrier(ctx); err == nil || !strings.Contains(err.Error(), "call Join first") {
		t.Errorf("a barrier before Join: %v", err)
	}
	if err := g.Close(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := errors.Join(g.Close(ctx, nil), g.Leave(ctx)); err != nil {
		t.Errorf("closed again: %v", err)
	}
	says(t, g.Barrier(ctx), collective.ErrClosed)
	mustRun(t, onMemory(t, 1), func(ctx context.Context, g *collective.Group) error {
		if collective.AllReduce(ctx, g, 77, []int64{1}) == nil || collective.Broadcast(ctx, g, 1, []int64{1}) == nil {
			t.Error("an unknown op or root was accepted")
		}
		return nil
	})
}

// FuzzMessages: whatever arrives, a rank answers and goes on.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("gfc1"))
	f.Add(append([]byte{0x67, 0x66, 0x63, 0x31, 1, 2, 1, 1}, make([]byte, 56)...))
	f.Add(append([]byte{0x67, 0x66, 0x63, 0x31, 1, 3, 0, 0}, make([]byte, 70)...))
	f.Fuzz(func(t *testing.T, msg []byte) {
		c := onMemory(t, 2)
		c.Rank = 1
		g, err := collective.New(t.Context(), c)
		law.Check(t, err)
		defer g.Close(t.Context(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // a part waits for its collective
		defer cancel()
		err = c.Transport.Call(ctx, "worker-1:1", [][]byte{msg}, func(body []byte) error {
			if len(body) < 32 {
				t.Errorf("an answer of %d bytes", len(body))
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
}
