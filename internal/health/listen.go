package health

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Ports have a board for each address at which this process answers probes: as long as the process lasts, whatever
// becomes of its roles.
type Ports struct {
	mu     sync.Mutex
	boards map[string]*Board
}

// Open is the board of an address, such as ":8080", where this process listens from the first call on.
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
	go func() { _ = Serve(l, b) }() // to the end of the process
	return b, nil
}

// Who asks has so long, and a head of so many bytes; of so many at a time the first is cut off for the next.
const (
	patience = 5 * time.Second
	longest  = 8 << 10
	most     = 64
)

// Serve answers probes until the listener is closed.
func Serve(l net.Listener, b *Board) error {
	var ring [most]net.Conn
	var serving sync.WaitGroup
	defer serving.Wait()
	for i := 0; ; i++ {
		c, err := l.Accept()
		if err != nil {
			if pause, is := err.(interface{ Temporary() bool }); is && pause.Temporary() { // too many open files
				time.Sleep(patience / 50)
				continue
			}
			return err
		}
		if before := ring[i%most]; before != nil {
			_ = before.Close()
		}
		ring[i%most] = c
		serving.Go(func() { serve(c, b) })
	}
}

// serve answers one request.
func serve(c net.Conn, b *Board) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(io.LimitReader(c, longest))
	first, err := r.ReadString('\n')
	for line := first; err == nil && strings.TrimSpace(line) != ""; {
		line, err = r.ReadString('\n')
	}
	if err != nil {
		return
	}
	method, rest, _ := strings.Cut(strings.TrimSpace(first), " ")
	path, _, _ := strings.Cut(rest, " ")
	status, text := http.StatusMethodNotAllowed, "only GET is answered"
	if method == http.MethodGet || method == http.MethodHead {
		path, _, _ = strings.Cut(path, "?")
		status, text = b.Answer(path)
	}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n", status, http.StatusText(status), len(text)+1)
	if method == http.MethodHead {
		text = ""
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(c, head+text)
}
