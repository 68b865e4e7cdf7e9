package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"
)

// bindAddress is the address to which the listener of an endpoint binds: the endpoint itself, unless listen is another
// address. If listen has no port, it is the endpoint's; if it has no host, it is every address of the machine.
func bindAddress(endpoint, listen string) (network, addr string, err error) {
	switch {
	case listen == "":
		return address(endpoint)
	case strings.HasPrefix(listen, "unix:"):
		return address(listen)
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		host, port = strings.Trim(listen, "[]"), ""
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", "", fmt.Errorf("FLEET_LISTEN (FastHTTP.ListenAddr) is %q; it can be host:port, :port, a host "+
				"or unix:/path", listen)
		}
	}
	if port == "" {
		if _, port, err = net.SplitHostPort(endpoint); err != nil {
			return "", "", fmt.Errorf("FLEET_LISTEN (FastHTTP.ListenAddr) is %q without a port, and the endpoint has "+
				"none either", listen)
		}
	}
	return "tcp", net.JoinHostPort(host, port), nil
}

// bindError explains a system's error about an address. The caller names the endpoint.
func bindError(addr string, err error) error {
	short, where := err, ""
	var op *net.OpError
	if errors.As(err, &op) {
		short = op.Err
		if op.Addr != nil && op.Addr.String() != addr {
			where = op.Addr.String() + ": "
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s%w: another job, or a process that an earlier one left, has the port: end it, or "+
			"choose another port for this endpoint on every role", where, short)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s%w: no network interface of this machine has it: if others reach this process by that "+
			"address all the same (a service, NAT, a published port), FLEET_LISTEN (FastHTTP.ListenAddr) says where "+
			"to listen, such as 0.0.0.0", where, short)
	}
	return fmt.Errorf("%s%w", where, short)
}

const (
	resolveInterval = 500 * time.Millisecond
	resolveSayEvery = 3 * time.Second
)

// ListenWait is t.Listen for an endpoint whose name may not resolve yet, such as that of a pod that has just started:
// it retries until ctx ends, and logs a warning with the reason every few seconds. Other errors are returned at once.
func ListenWait(ctx context.Context, t Transport, endpoint string, log *slog.Logger) (Listener, error) {
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
				"on): %w", err,
				time.Since(began).Round(time.Millisecond), context.Cause(ctx))
		}
	}
}
