package health

import (
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/gofleet/gofleet/internal/httpget"
)

// Ports holds a board for each address at which this process answers probes, for as long as the process runs, whatever
// roles it has.
type Ports struct {
	mu     sync.Mutex
	boards map[string]*Board
}

// Open returns the board of an address, such as ":8080". The first call for an address listens there, and returns an
// error if it can't.
func (p *Ports) Open(addr string, log *slog.Logger) (*Board, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.boards[addr]; b != nil {
		return b, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: want an address for this process alone, such as :8080", err)
	}
	if p.boards == nil {
		p.boards = map[string]*Board{}
	}
	b := new(Board)
	p.boards[addr] = b
	log.Debug("probes are answered", "at", l.Addr().String())
	go func() { _ = Serve(l, b) }() // until the process ends
	return b, nil
}

// Serve answers probes until the listener is closed.
func Serve(l net.Listener, b *Board) error {
	return httpget.Serve(l, func(r *httpget.Request) httpget.Answer { return httpget.Text(b.Answer(r.Path)) })
}
