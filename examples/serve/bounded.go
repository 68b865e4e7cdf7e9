package main

import (
	"net"
	"sync"
	"sync/atomic"
)

// bounded closes connections that come when so many are open.
type bounded struct {
	net.Listener
	most, open int64
}

func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if atomic.AddInt64(&l.open, 1) <= l.most {
			return &counted{Conn: c, left: sync.OnceFunc(func() { atomic.AddInt64(&l.open, -1) })}, nil
		}
		atomic.AddInt64(&l.open, -1)
		c.Close()
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	left func()
}

func (c *counted) Close() error {
	c.left()
	return c.Conn.Close()
}
