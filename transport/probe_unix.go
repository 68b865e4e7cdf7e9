//go:build unix

package transport

import (
	"net"
	"syscall"
)

// probe checks, without waiting, whether an idle connection is still open: the server must neither have closed it nor
// have sent anything. Most requests so avoid connections that died while they were idle.
type probe struct {
	raw   syscall.RawConn
	look  func(fd uintptr) bool
	state error
	byte1 [1]byte
}

func (p *probe) watch(conn net.Conn) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	p.raw = raw
	p.look = func(fd uintptr) bool {
		_, p.state = syscall.Read(int(fd), p.byte1[:])
		return true
	}
}

func (p *probe) quiet() bool {
	if p.raw == nil {
		return true
	}
	if err := p.raw.Read(p.look); err != nil {
		return false
	}
	return p.state == syscall.EAGAIN
}

// endedByPeer reports, without waiting and while another goroutine may read, whether the other side has closed a
// connection and all that it sent was read.
func endedByPeer(conn net.Conn) (ended bool) {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // fails, with ended false, if this side has closed it
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK) // the socket does not block
		ended = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return ended
}
