package main

import (
	"net"
	"slices"
	"strconv"
)

// localhost is the host of roles that are given by a count.
const localhost = "127.0.0.1"

// freePorts returns n free endpoints on this machine, all different, and none in taken. They are bound until all are
// found; a role binds its own moments later, and fails with a clear error if another process was faster.
func freePorts(n int, taken []endpoint) ([]endpoint, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	var out []endpoint
	for len(out) < n {
		l, err := net.Listen("tcp", net.JoinHostPort(localhost, "0"))
		if err != nil {
			return nil, err
		}
		held = append(held, l)
		port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		if !slices.ContainsFunc(taken, func(e endpoint) bool { return e.port == port }) {
			out = append(out, endpoint{localhost, port})
		}
	}
	return out, nil
}
