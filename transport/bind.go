package transport

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
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
