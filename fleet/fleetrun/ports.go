package main

import (
	"net"
	"slices"
	"strconv"
)

// localhost is where roles live that are only counted.
const localhost = "127.0.0.1"

// freePorts returns n free endpoints on this machine, no port twice and none that taken uses. All are
// held until all are found; a role claims its own moments later, and fails plainly if a stranger was faster.
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
