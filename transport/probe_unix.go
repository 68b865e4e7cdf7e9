//go:build unix

package transport

import (
	"net"
	"syscall"
)

// probe looks, without waiting, whether an idle connection is still open: the server must have neither closed it nor said
// anything unasked. This keeps most requests off connections that died while nobody used them.
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
