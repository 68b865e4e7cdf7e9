package transport

import "sync"

// idlePool keeps connections between calls: a stack for each endpoint, so that the one used last is used next. After a
// burst the connections at the bottom stay until the server or a middlebox closes them; a caller that finds one closed
// takes the next (connect). A connection is in the pool or with a call, never both, so that it has no lock.
type idlePool struct {
	mu    sync.Mutex
	conns map[string][]*clientConn
}

func (p *idlePool) get(endpoint string) *clientConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	stack := p.conns[endpoint]
	if len(stack) == 0 {
		return nil
	}
	c := stack[len(stack)-1]
	stack[len(stack)-1] = nil
	p.conns[endpoint] = stack[:len(stack)-1]
	return c
}

// put keeps c, or returns false if there are enough.
func (p *idlePool) put(endpoint string, c *clientConn, enough int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stack := p.conns[endpoint]
	if len(stack) >= enough {
		return false
	}
	if p.conns == nil {
		p.conns = make(map[string][]*clientConn)
	}
	p.conns[endpoint] = append(stack, c)
	return true
}

func (p *idlePool) closeAll() {
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for _, stack := range conns {
		for _, c := range stack {
			c.close()
		}
	}
}
