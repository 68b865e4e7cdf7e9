package transport_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// TestMemoryFakeTime runs a server that takes an hour, and a client that waits for a minute, in no time.
func TestMemoryFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := transport.Compressed(transport.NewMemory(), byName(t, "zstd"), 0)
		l, err := net.Listen("server-0:1")
		law.Check(t, err)
		go func() {
			_ = l.Serve(func(_ []byte, reply *transport.Reply) {
				time.Sleep(time.Hour)
				reply.Parts = [][]byte{[]byte(strings.Repeat("late ", 1000))}
			})
		}()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		read := func(body []byte) error { return fmt.Errorf("%d bytes", len(body)) }
		if err := net.Call(ctx, "server-0:1", nil, read); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want context.DeadlineExceeded", err)
		}
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("it waited %v, want a minute", waited)
		}
		if err := net.Call(t.Context(), "server-0:1", nil, read); err == nil || err.Error() != "5000 bytes" {
			t.Errorf("%v, want the answer", err)
		}
		if waited := time.Since(start); waited != time.Minute+time.Hour {
			t.Errorf("it waited %v, want a minute and an hour", waited)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestMemoryNames checks that any name is an endpoint, ":0" gives a new one each time, and networks are apart.
func TestMemoryNames(t *testing.T) {
	var here, there transport.Memory
	for _, name := range []string{"server-0:1", "10.1.2.3:6001", "a name with blanks", "ps0.cluster.local:0"} {
		endpoint, _ := start(t, &here, name)
		if !strings.HasSuffix(name, ":0") && endpoint != name {
			t.Errorf("%q became %q", name, endpoint)
		}
		if got, err := ask(&here, endpoint, name); err != nil || got != name {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if _, err := ask(&there, endpoint, name); !errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("%q on another network: %v, want ErrUnreachable", name, err)
		}
	}
	if _, err := here.Listen("server-0:1"); err == nil || !strings.Contains(err.Error(), "server-0:1") {
		t.Errorf("listening twice: %v", err)
	}
	if _, err := here.Listen(""); err == nil {
		t.Error("the empty name is an endpoint")
	}
	if l, err := here.Listen("ps0.cluster.local:1"); err == nil {
		t.Errorf("%s was given to somebody already", l.Endpoint())
	}
}

// TestMemoryWaitsForServe lets a call's time run out before anybody serves: nobody saw it.
func TestMemoryWaitsForServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := transport.NewMemory()
		l, err := net.Listen("server-0:1")
		law.Check(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = net.Call(ctx, l.Endpoint(), nil, nil)
		if !errors.Is(err, transport.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want ErrUnreachable and context.DeadlineExceeded", err)
		}
		gone := make(chan error)
		go func() { gone <- net.Call(t.Context(), l.Endpoint(), nil, nil) }()
		synctest.Wait()
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-gone; !errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("closed before it was served: %v, want ErrUnreachable", err)
		}
	})
}
