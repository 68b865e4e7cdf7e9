package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWorkersFirst starts a worker ten seconds before the second server: it says every three seconds whom it waits for, and
// then goes on.
//
// Promise: [G5] workers start first, servers late; a worker stops before others start
// Also: TestNoConnectionStays, TestStopBeforeTheOthersStart (fleet)
func TestWorkersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := newJob(t, 2, 1, strategy.Sync())
		j.log = &log
		j.serve(0)
		began := time.Now()
		joined := make(chan error, 1)
		go func() { joined <- j.client(0, nil).Join(t.Context()) }()
		<-time.After(10 * time.Second)
		j.serve(1)
		check(t, <-joined)
		if took := time.Since(began); took > 10*time.Second+2*pollInterval {
			t.Errorf("joined after %v, the server came after 10s", took)
		}
		said := strings.Count(log.String(), "server not ready, still waiting")
		why := strings.Count(log.String(), `why="transport: call `+j.endpoints[1]+": endpoint unreachable")
		if said != 3 || why != 3 || strings.Contains(log.String(), j.endpoints[0]) {
			t.Errorf("in ten seconds it said, want three times that %s is not ready, and why:\n%s", j.endpoints[1], log.String())
		}
	})
}

// TestServersNeverCome waits in vain: the error comes on time and names who is missing, and nobody else.
//
// Promise: [G4] a wait for servers that never start, or accept requests and never answer, ends and names them
// Also: TestCall, TestHalfOpenServers
func TestServersNeverCome(t *testing.T) {
	tests := map[string]struct {
		serve  []int
		listen bool // the second server has its endpoint and does not answer there
		says   string
	}{
		"none":         {says: "servers [server-0:1 server-1:1] not ready after 20s (0 of 2 ready"},
		"one of two":   {serve: []int{0}, says: "servers [server-1:1] not ready after 20s (1 of 2 ready"},
		"does not say": {serve: []int{0}, listen: true, says: "servers [server-1:1] not ready after 20s (1 of 2 ready"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := strategy.Async()
				s.StartTimeout = strategy.Duration(20 * time.Second)
				j := newJob(t, 2, 1, s)
				j.log = &log
				j.serve(test.serve...)
				if test.listen {
					l, err := j.net.Listen(j.endpoints[1])
					check(t, err)
					defer l.Close(t.Context())
				}
				began := time.Now()
				err := j.client(0, nil).Join(t.Context())
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want the deadline and %q", err, test.says)
				}
				if took := time.Since(began); took != 20*time.Second {
					t.Errorf("gave up after %v, the limit was 20s", took)
				}
				if n := strings.Count(log.String(), "still waiting"); n != 6 {
					t.Errorf("it spoke %d times in 20s, want every 3s:\n%s", n, log.String())
				}
			})
		})
	}
}

// TestWaitingEnds ends the wait from outside.
func TestWaitingEnds(t *testing.T) {
	errGone := errors.New("the user went home")
	tests := map[string]struct {
		end  func(c *Client, cancel context.CancelCauseFunc)
		want error
	}{
		"by ctx":   {func(_ *Client, cancel context.CancelCauseFunc) { cancel(errGone) }, errGone},
		"by Close": {func(c *Client, _ context.CancelCauseFunc) { c.Close() }, ErrClosed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Sync())
				c := j.client(0, nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				timer := time.AfterFunc(7*time.Second, func() { test.end(c, cancel) })
				defer timer.Stop()
				began := time.Now()
				if err := c.Join(ctx); !errors.Is(err, test.want) || !strings.Contains(err.Error(), "server-0:1") {
					t.Errorf("got %v, want %v and the server's name", err, test.want)
				}
				if took := time.Since(began); took != 7*time.Second {
					t.Errorf("ended after %v, was told after 7s", took)
				}
			})
		})
	}
}

// TestFailsFastWhenServerRefuses has servers that will never take this worker: it says so at once and names the server.
func TestFailsFastWhenServerRefuses(t *testing.T) {
	refuse := func(reason string) func(string, wire.Header) error {
		return func(endpoint string, _ wire.Header) error {
			return fmt.Errorf("call %s: %w: %s", endpoint, transport.ErrRefused, reason)
		}
	}
	tests := map[string]struct {
		before func(string, wire.Header) error
		change func(*Client)
		want   error
		says   string
	}{
		"token":         {before: refuse("wrong token"), want: transport.ErrRefused, says: "wrong token"},
		"wire version":  {before: func(string, wire.Header) error { return fmt.Errorf("wire: version 9: %w", wire.ErrVersion) }, want: wire.ErrVersion, says: "version 9"},
		"another model": {change: func(c *Client) { c.Fingerprint[0] = "rule\tof another" }, want: wire.ErrMismatch, says: "worker 0 has of another"},
		"one too many":  {change: func(c *Client) { c.link.worker = 4 }, want: wire.ErrMismatch, says: "server 0 has workers 0 to 0, and this is worker 4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 1, strategy.Async())
				j.serve(0, 1)
				synctest.Wait()
				c := j.client(0, &tap{Transport: j.net, before: test.before})
				if test.change != nil {
					test.change(c)
				}
				began := time.Now()
				err := c.Join(t.Context())
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "(server-") {
					t.Errorf("got %v, want %v that says %q and names the server", err, test.want, test.says)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %v to notice", took)
				}
			})
		})
	}
}
