package main

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// machine has the names of this machine, by which it finds itself in a list.
type machine struct {
	podIP     string   // POD_IP, which takes precedence
	hostname  string   //
	addresses []string // of its interfaces
}

func thisMachine() machine {
	m := machine{podIP: os.Getenv("POD_IP")}
	m.hostname, _ = os.Hostname() // without a name the addresses still serve
	found, _ := net.InterfaceAddrs()
	for _, a := range found {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			m.addresses = append(m.addresses, prefix.Addr().String())
		}
	}
	return m
}

// among returns a function that reports whether a host is this machine. If POD_IP is among the hosts, only that host
// is; if it is set and not among them, only loopback addresses can be.
func (m machine) among(hosts []string) func(host string) bool {
	switch {
	case m.podIP == "":
		return m.owns
	case slices.ContainsFunc(hosts, func(h string) bool { return sameHost(h, m.podIP) }):
		return func(host string) bool { return sameHost(host, m.podIP) }
	default:
		return loopback
	}
}

func (m machine) owns(host string) bool {
	return loopback(host) || m.hostname != "" && strings.EqualFold(host, m.hostname) ||
		slices.ContainsFunc(m.addresses, func(a string) bool { return sameHost(a, host) })
}

// describe names what this machine looked for in the list.
func (m machine) describe() string {
	if m.podIP != "" {
		return "POD_IP=" + m.podIP
	}
	return strings.Join(append(slices.Clone(m.addresses), m.hostname), ", ")
}

// sameHost compares host names, and addresses by value: ::1 is 0:0:0:0:0:0:0:1.
func sameHost(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	if err != nil || err2 != nil {
		return strings.EqualFold(a, b)
	}
	return x.Unmap() == y.Unmap()
}
