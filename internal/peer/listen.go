package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/gofleet/gofleet/transport"
)

const (
	resolveInterval = 500 * time.Millisecond
	resolveSayEvery = 3 * time.Second
)

// Listen is t.Listen for an endpoint whose name may not resolve yet, such as that of a pod that has just started:
// it retries until ctx ends, and logs a warning with the reason every few seconds. Other errors are returned at once.
func Listen(ctx context.Context, t transport.Transport, endpoint string, log *slog.Logger) (transport.Listener, error) {
	began, said := time.Now(), time.Now()
	for {
		l, err := t.Listen(endpoint)
		var unresolved *net.DNSError
		if err == nil || !errors.As(err, &unresolved) {
			return l, err
		}
		if time.Since(said) >= resolveSayEvery {
			said = time.Now()
			log.Warn("own name does not resolve, still waiting", "endpoint", endpoint,
				"waited", time.Since(began).Round(time.Second), "why", err)
		}
		select {
		case <-time.After(resolveInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: waited %v for the name to resolve (FLEET_LISTEN can name an address to listen "+
				"on): %w", err, time.Since(began).Round(time.Millisecond), context.Cause(ctx))
		}
	}
}
