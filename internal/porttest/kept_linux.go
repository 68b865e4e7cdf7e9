package porttest

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// Kept returns n different endpoints on loopback that no other process gets until the test ends. A socket that does not
// listen is bound to each: connections are refused while no role listens there, and a process that names the endpoint
// may listen, since package net sets the option to share addresses with such sockets.
func Kept(t testing.TB, n int) (endpoints []string) {
	t.Helper()
	for range n {
		s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(os.NewSyscallError("socket", err))
		}
		t.Cleanup(func() { syscall.Close(s) })
		if err := syscall.SetsockoptInt(s, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
			t.Fatal(os.NewSyscallError("setsockopt", err))
		}
		if err := syscall.Bind(s, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(os.NewSyscallError("bind", err))
		}
		at, err := syscall.Getsockname(s)
		if err != nil {
			t.Fatal(os.NewSyscallError("getsockname", err))
		}
		endpoints = append(endpoints, fmt.Sprint("127.0.0.1:", at.(*syscall.SockaddrInet4).Port))
	}
	return endpoints
}
