package transport

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// address splits an endpoint for package net: "unix:/run/a.sock" is a unix socket, anything else is TCP.
func address(endpoint string) (network, addr string, err error) {
	if path, ok := strings.CutPrefix(endpoint, "unix:"); ok {
		if path == "" {
			return "", "", fmt.Errorf("transport: endpoint %q has no path; write unix:/path/to/socket", endpoint)
		}
		return "unix", path, nil
	}
	if _, _, err := net.SplitHostPort(endpoint); err != nil {
		return "", "", fmt.Errorf("transport: endpoint %q is neither host:port nor unix:/path: %w", endpoint, err)
	}
	return "tcp", endpoint, nil
}

// onThisMachine reports whether bytes sent to a resolved address stay on this machine.
func onThisMachine(network, addr string) bool {
	if strings.HasPrefix(network, "unix") {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	host, _, _ = strings.Cut(host, "%") // an IPv6 zone
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// staysHere is onThisMachine for an endpoint that is not resolved: localhost is the only name that it accepts.
func staysHere(endpoint string) bool {
	return strings.HasPrefix(endpoint, "127.0.0.1:") || strings.HasPrefix(endpoint, "unix:") ||
		strings.HasPrefix(endpoint, "localhost:") || onThisMachine("tcp", endpoint)
}

// named is the endpoint that clients call: as it was written, with the assigned port in place of 0.
func named(endpoint string, ln net.Listener) string {
	tcp, ok := ln.Addr().(*net.TCPAddr)
	host, port, err := net.SplitHostPort(endpoint)
	if !ok || err != nil || port != "0" {
		return endpoint
	}
	return net.JoinHostPort(host, fmt.Sprint(tcp.Port))
}

// sweep removes a socket that a dead process left behind, so that its path can be listened on again.
func sweep(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		_ = os.Remove(path)
		return
	}
	_ = conn.Close()
}
