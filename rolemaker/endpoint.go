package rolemaker

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// checkEndpoints returns which entry of the list can't be an endpoint or comes twice.
func checkEndpoints(list []string) error {
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		if err := checkEndpoint(e); err != nil {
			return err
		}
		if seen[e] {
			return fmt.Errorf("endpoint %q is there twice", e)
		}
		seen[e] = true
	}
	return nil
}

// joinHostPort is net.JoinHostPort for hosts that may already have the brackets of an IPv6 address.
func joinHostPort(host, port string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return net.JoinHostPort(host, port)
}

// indexEndpoint is the place of an endpoint in a list, however its address is written, or -1.
func indexEndpoint(list []string, e string) int {
	return slices.IndexFunc(list, func(other string) bool { return other == e || sameAddress(other, e) })
}

// sameAddress reports whether two endpoints are the same IP address and port.
func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddrPort(a)
	y, errY := netip.ParseAddrPort(b)
	return errX == nil && errY == nil && x == y
}

func checkEndpoint(e string) error {
	if path, ok := strings.CutPrefix(e, "unix:"); ok && path != "" {
		return nil
	}
	host, port, err := net.SplitHostPort(e)
	if err != nil || host == "" {
		return fmt.Errorf(`endpoint %q is not "host:port" or "unix:/path"`, e)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("endpoint %q has port %q; ports are 1 to 65535", e, port)
	}
	return nil
}
