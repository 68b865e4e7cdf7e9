package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// endpoint is an address of a role, host and port as they were typed.
type endpoint struct{ host, port string }

func (e endpoint) String() string { return net.JoinHostPort(e.host, e.port) }

// firstWorkerPort is the port of worker 0 if a list has hosts only; worker i has the i-th port after it.
const firstWorkerPort = 6170

// parseList parses the value of --servers or --workers. portOf returns the port of an entry without one; nil requires
// one.
func parseList(flag, list string, portOf func(rank int) int) ([]endpoint, error) {
	if list == "" {
		return nil, nil
	}
	var out []endpoint
	for item := range strings.SplitSeq(list, ",") {
		e, err := parseEndpoint(strings.TrimSpace(item))
		if err == nil && e.port == "" {
			if portOf == nil {
				err = errors.New("it needs a port, as in 10.0.0.1:36000")
			} else {
				e.port = strconv.Itoa(portOf(len(out)))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--%s=%s, entry %d (%q): %w", flag, list, len(out), item, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// parseEndpoint parses "host" or "host:port"; an IPv6 address with a port is in brackets.
func parseEndpoint(item string) (endpoint, error) {
	e := endpoint{host: item}
	if strings.HasPrefix(item, "[") && strings.HasSuffix(item, "]") {
		e.host = item[1 : len(item)-1]
	}
	if _, err := netip.ParseAddr(e.host); err != nil && strings.Contains(item, ":") {
		host, port, err := net.SplitHostPort(item)
		if err != nil {
			return e, errors.New("expected ip:port")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return e, fmt.Errorf("a port is a number from 1 to 65535, not %q", port)
		}
		e = endpoint{host, port}
	}
	return e, checkHost(e.host)
}

func checkHost(host string) error {
	if host == "" {
		return errors.New("missing host")
	}
	if strings.ContainsAny(host, " \t/[]") {
		return errors.New("expected ip:port")
	}
	a, err := netip.ParseAddr(host)
	if err == nil && a.IsUnspecified() {
		return errors.New("no machine can call that address: name one that the other machines can reach")
	}
	for _, c := range host {
		if err != nil && isStrange(c) {
			return fmt.Errorf("no host has %q in its name", c)
		}
	}
	return nil
}

// isStrange reports whether a character can't be in a host name, which has letters, digits, dots, hyphens, and
// underscores, as many do.
func isStrange(c rune) bool {
	return c >= 0x80 || !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.ContainsRune(".-_", c))
}

// loopback reports whether a host is a loopback address, or localhost.
func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// join writes endpoints in the form of the environment.
func join(list []endpoint) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.String()
	}
	return strings.Join(texts, ",")
}
