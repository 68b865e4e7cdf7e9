package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// script is a transport that answers its n-th call as the n-th line says; the last line goes on for ever.
type script struct {
	transport.Transport
	lines []func(ctx context.Context, read func([]byte) error) error
	calls atomic.Int64
}

func (s *script) Call(ctx context.Context, _ string, _ [][]byte, read func([]byte) error) error {
	n := int(s.calls.Add(1)) - 1
	return s.lines[min(n, len(s.lines)-1)](ctx, read)
}

var errLost = errors.New("the answer was lost")

func lost(context.Context, func([]byte) error) error { return errLost }

func gone(context.Context, func([]byte) error) error { return transport.ErrUnreachable }

func never(ctx context.Context, _ func([]byte) error) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func garbage(_ context.Context, read func([]byte) error) error {
	return read([]byte("<html>404</html>"))
}

// status answers with a frame of that status and text.
func status(status uint8, text string) func(context.Context, func([]byte) error) error {
	return func(_ context.Context, read func([]byte) error) error {
		var b wire.Builder
		b.Reset(wire.Header{Op: wire.OpHeartbeat, Status: status})
		b.Blob([]byte(text))
		var body []byte
		for _, part := range b.Parts() {
			body = append(body, part...)
		}
		return read(body)
	}
}

// TestCall holds one request to what it may repeat, for how long, and what it says in the end.
func TestCall(t *testing.T) {
	type line = func(context.Context, func([]byte) error) error
	ok := status(wire.StatusOK, "")
	tests := map[string]struct {
		lines []line
		limit time.Duration // of ctx; 0 is none
		heard bool          // the server answers heartbeats all the time
		calls int64         // 0 is any number
		took  time.Duration // at least, and at most a second more
		want  error
		says  string
	}{
		"answered":             {lines: []line{ok}, calls: 1},
		"lost answers":         {lines: []line{lost, lost, lost, ok}, calls: 4, took: 70 * time.Millisecond},
		"unreachable":          {lines: []line{gone, gone, ok}, calls: 3, took: 30 * time.Millisecond},
		"not ready":            {lines: []line{status(wire.StatusNotReady, "say hello"), ok}, calls: 2, took: 10 * time.Millisecond},
		"garbage":              {lines: []line{garbage, ok}, calls: 2, took: 10 * time.Millisecond},
		"refused":              {lines: []line{status(wire.StatusRefused, "no such row")}, calls: 1, want: wire.ErrRefused, says: "no such row"},
		"stale":                {lines: []line{lost, status(wire.StatusStale, "old life")}, calls: 2, took: 10 * time.Millisecond, want: wire.ErrStale, says: "old life"},
		"job failed":           {lines: []line{status(wire.StatusFailed, "worker 1 died")}, calls: 1, want: wire.ErrFailed, says: "worker 1 died"},
		"too large":            {lines: []line{func(context.Context, func([]byte) error) error { return transport.ErrTooLarge }}, calls: 1, want: transport.ErrTooLarge},
		"not trusted":          {lines: []line{func(context.Context, func([]byte) error) error { return transport.ErrRefused }}, calls: 1, want: transport.ErrRefused},
		"silent":               {lines: []line{lost}, took: 30 * time.Second, want: errLost, says: "no answer for 3"},
		"never ready":          {lines: []line{status(wire.StatusNotReady, "say hello")}, took: 30 * time.Second, want: wire.ErrNotReady, says: "say hello"},
		"deadline":             {lines: []line{lost}, limit: 5 * time.Second, took: 5 * time.Second, want: context.DeadlineExceeded},
		"deadline in a call":   {lines: []line{never}, limit: 2 * time.Second, calls: 1, took: 2 * time.Second, want: context.DeadlineExceeded},
		"half open":            {lines: []line{never}, calls: 4, took: 45 * time.Second, want: context.DeadlineExceeded, says: "has answered none for 45s"},
		"the strategy's limit": {lines: []line{never}, heard: true, calls: 5, took: time.Minute, want: context.DeadlineExceeded, says: "no answer within 1m0s"},
		"busy for ever":        {lines: []line{gone}, heard: true, took: time.Minute, want: context.DeadlineExceeded, says: "no answer within 1m0s"},
		"lost without a word":  {lines: []line{never, never, ok}, calls: 3, took: 9 * time.Second},
		"lost, then broken":    {lines: []line{never, lost, ok}, calls: 3, took: 3 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := strategy.Async()
				s.WaitTimeout = strategy.Duration(time.Minute)
				net := &script{lines: test.lines}
				c := newJob(t, 2, 1, s).client(0, net)
				ctx := t.Context()
				if test.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.limit)
					defer cancel()
				}
				if test.heard {
					c.link.heard.at[1].Store(int64(time.Hour))
				}
				began := time.Now()
				err := c.link.control(ctx, 1, wire.OpHeartbeat, nil, nil)
				took := time.Since(began)
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if err != nil && (!strings.Contains(err.Error(), "server 1 (server-1:1)") || !strings.Contains(err.Error(), test.says)) {
					t.Errorf("got %v, want the server's name and %q", err, test.says)
				}
				if n := net.calls.Load(); test.calls > 0 && n != test.calls {
					t.Errorf("%d attempts, want %d", n, test.calls)
				}
				if took < test.took || took > test.took+time.Second {
					t.Errorf("it took %v, want %v", took, test.took)
				}
			})
		})
	}
}

// TestCloseEndsCalls closes a client while a call waits.
func TestCloseEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJob(t, 1, 1, strategy.Async()).client(0, &script{lines: []func(context.Context, func([]byte) error) error{never}})
		failed := make(chan error, 1)
		go func() { failed <- c.link.control(t.Context(), 0, wire.OpHeartbeat, nil, nil) }()
		synctest.Wait()
		c.Close()
		if err := <-failed; !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "server-0:1") {
			t.Errorf("got %v, want ErrClosed and the server's name", err)
		}
	})
}

// TestLeaveWhenServersAreGone stops a worker whose servers have ended already: that is no error.
func TestLeaveWhenServersAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Async())
		j.serve(0)
		net := &tap{Transport: j.net}
		c := j.join(0, net)
		net.before = func(endpoint string, _ wire.Header) error {
			return fmt.Errorf("call %s: %w", endpoint, transport.ErrUnreachable)
		}
		began := time.Now()
		check(t, c.Leave(t.Context()))
		check(t, c.Leave(t.Context()))
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if _, err := c.Open(params()); !errors.Is(err, ErrClosed) {
			t.Errorf("a session after leaving: %v, want ErrClosed", err)
		}
		if net.idleClosed.Load() == 0 {
			t.Error("idle connections were not closed")
		}
	})
}

// TestOutage tells servers that are gone from such that are hard to reach.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outage
		for i := range 100 {
			err := transport.ErrUnreachable
			if i%5 == 4 {
				err = errLost
			}
			if o.add(err); o.gone(goneAfter) {
				t.Fatalf("gone after %v, though every fifth attempt found somebody", time.Since(o.began))
			}
			<-time.After(50 * time.Millisecond)
		}
		for range 7 {
			o.add(transport.ErrUnreachable)
			<-time.After(50 * time.Millisecond)
		}
		if !o.gone(goneAfter) {
			t.Error("not gone though nobody has listened for 350 ms")
		}
	})
}

// TestLeaveInsistsOnABusyServer has servers without room for a moment when the worker stops: they are not taken for gone.
func TestLeaveInsistsOnABusyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, strategy.Async())
		j.serve(0, 1)
		net := &tap{Transport: j.net}
		c := j.join(0, net)
		var busy sync.Map
		net.before = func(endpoint string, h wire.Header) error {
			if _, again := busy.LoadOrStore(endpoint, true); h.Op == wire.OpLeave && !again {
				return fmt.Errorf("call %s: %w: %w", endpoint, transport.ErrBusy, transport.ErrUnreachable)
			}
			return nil
		}
		check(t, c.Leave(t.Context()))
		j.serving.Wait()
		for i, err := range j.errs {
			if err != nil {
				t.Errorf("server %d was not told: %v", i, err)
			}
		}
	})
}
