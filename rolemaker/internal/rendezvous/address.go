package rendezvous

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports for servers are chosen from this range: above the ports that systems use for outgoing calls, which could take a
// port between two listeners.
const firstPort, lastPort = 61001, 64999

// holdPort listens on a free port of all addresses. Closing frees the port.
func holdPort(ctx context.Context) (net.Listener, error) {
	var c net.ListenConfig
	for range 64 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if l, err := c.Listen(ctx, "tcp", endpoint("", port)); err == nil {
			return l, nil
		}
	}
	return c.Listen(ctx, "tcp", ":0")
}

func endpoint(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// ownHost is an address of this machine for others to call: loopback if all are on one machine, otherwise that of a
// network interface, IPv4 before IPv6.
func ownHost(oneMachine bool) string {
	best := "127.0.0.1"
	if oneMachine {
		return best
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return best
	}
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		if n.IP.To4() != nil {
			return n.IP.String()
		}
		best = n.IP.String()
	}
	return best
}

// ipOf is the address of one end of a connection, "" if it has none.
func ipOf(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.IP.String()
	}
	return ""
}

// isLoopback reports whether only this machine can call the host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkAddress returns why another machine can't be called at an address.
func checkAddress(a string) error {
	host, port, err := net.SplitHostPort(a)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
		return fmt.Errorf(`%q is not "host:port"`, a)
	}
	return nil
}
