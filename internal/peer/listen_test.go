package peer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// nameless is a network on which the name of an endpoint does not resolve for a while.
type nameless struct {
	transport.Transport
	until time.Time
}

func (n nameless) Listen(endpoint string) (transport.Listener, error) {
	if time.Now().Before(n.until) {
		return nil, &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: endpoint}}
	}
	return n.Transport.Listen(endpoint)
}

// TestListen waits for a name that resolves late, saying why, and no longer than its ctx.
func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		began := time.Now()
		l, err := Listen(t.Context(), nameless{transport.NewMemory(), began.Add(10 * time.Second)}, "pod:1", logger)
		if took := time.Since(began); err != nil || took < 10*time.Second || took > 11*time.Second {
			t.Errorf("error %v after %v, the name resolves after 10s", err, took)
		}
		_ = l.Close(t.Context())
		if n := strings.Count(log.String(), "no such host"); n != 3 || !strings.Contains(log.String(), "endpoint=pod:1") {
			t.Errorf("it said %d times why it waits, want 3:\n%s", n, log.String())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = Listen(ctx, nameless{transport.NewMemory(), time.Now().Add(time.Hour)}, "pod:1", logger)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no such host: waited 20s for the name to resolve") {
			t.Errorf("a name that never resolves: %v", err)
		}
		taken := transport.NewMemory()
		if _, err = taken.Listen("pod:1"); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if _, err := Listen(ctx, taken, "pod:1", logger); err == nil || time.Since(began) > 0 {
			t.Errorf("an endpoint that is taken: error %v after %v", err, time.Since(began))
		}
	})
}
