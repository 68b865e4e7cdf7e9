// Package porttest finds endpoints that tests may listen at.
package porttest

import (
	"net"
	"testing"
)

// Free returns n different endpoints on loopback that were free a moment ago.
func Free(t testing.TB, n int) (endpoints []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all at the end, so that the system gives no port twice
		endpoints = append(endpoints, l.Addr().String())
	}
	return endpoints
}
