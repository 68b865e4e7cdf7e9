package transporttest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// LineFaults are the faults of connections through a Relay. Each field but Within is a probability from 0 to 1, drawn
// for each connection. A connection has at most one fault, so the probabilities should sum to 1 or less.
type LineFaults struct {
	// HalfOpen accepts the connection, reads all that arrives and passes on nothing.
	HalfOpen float64
	// Cut breaks the connection, both ways, after some bytes in one direction.
	Cut float64
	// Corrupt flips one bit after some bytes in one direction, and goes on.
	Corrupt float64
	// Slow passes on, in one direction, 1 KiB a millisecond.
	Slow float64
	// Within bounds the bytes before a Cut or a Corrupt. 0 means 64 KiB.
	Within int
}

// Relay listens in front of an endpoint of TCP or of a unix socket and passes bytes on, with faults by seed. It is for
// real connections what [Faulty] is for messages: only here it shows how a transport over sockets treats broken lines.
type Relay struct {
	ln      net.Listener
	network string
	addr    string
	seed    uint64
	faults  LineFaults
	wg      sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool // true for half-open connections
	counts map[string]int
}

// NewRelay listens on a free port of the loopback and passes bytes on to target, "host:port" or "unix:/path", until
// Close. It returns an error if it cannot listen.
func NewRelay(target string, seed uint64, faults LineFaults) (*Relay, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("transporttest: relay to %s: %w", target, err)
	}
	r := &Relay{ln: ln, network: "tcp", addr: target, seed: seed, faults: faults, conns: map[net.Conn]bool{},
		counts: map[string]int{}}
	if path, ok := strings.CutPrefix(target, "unix:"); ok {
		r.network, r.addr = "unix", path
	}
	r.wg.Go(r.accept)
	return r, nil
}

// Endpoint is the endpoint that clients call instead of the target.
func (r *Relay) Endpoint() string { return r.ln.Addr().String() }

// Counts returns how many connections had each fault, by the names of the fields of LineFaults.
func (r *Relay) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Close breaks all connections and waits until nothing is passed on.
func (r *Relay) Close() {
	_ = r.ln.Close()
	r.mu.Lock()
	r.closed = true
	for c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// drain accepts no more connections, and waits, at most for patience, until the remaining connections have passed on
// all data that the server sent before it was closed.
func (r *Relay) drain(patience time.Duration) {
	_ = r.ln.Close()
	r.mu.Lock()
	for c, halfOpen := range r.conns {
		if halfOpen {
			_ = c.Close()
		}
	}
	r.mu.Unlock()
	drained := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(drained)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
	}
	r.Close()
	<-drained
}

func (r *Relay) accept() {
	for number := uint64(0); ; number++ {
		client, err := r.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // most likely too many open files
			continue
		}
		r.wg.Go(func() { r.relay(client, number) })
	}
}

// relay serves one connection.
func (r *Relay) relay(client net.Conn, number uint64) {
	rng := rand.New(rand.NewPCG(r.seed, number))
	name := r.draw(rng.Float64())
	defer r.keep(client, name == "HalfOpen")()
	after, up, bit := rng.IntN(r.within()), rng.IntN(2) == 0, byte(rng.IntN(8))
	if name == "HalfOpen" {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial(r.network, r.addr)
	if err != nil {
		return
	}
	defer r.keep(server, false)()
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	there, back := &stretch{w: server}, &stretch{w: client}
	spoilt := back
	if up {
		spoilt = there
	}
	spoilt.fault, spoilt.after, spoilt.bit = name, after, bit
	var both sync.WaitGroup
	both.Go(func() { pass(there, client, end) })
	both.Go(func() { pass(back, server, end) })
	both.Wait()
}

func pass(to io.Writer, from io.Reader, end func()) {
	defer end()
	_, _ = io.Copy(to, onlyReader{from})
}

// onlyReader hides the methods besides Read, by which io.Copy would avoid Read and Write.
type onlyReader struct{ io.Reader }

// keep registers a connection, so that Close can close it, until the returned function is called.
func (r *Relay) keep(c net.Conn, halfOpen bool) (forget func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = halfOpen
	if r.closed {
		_ = c.Close()
	}
	return func() {
		_ = c.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, c)
	}
}

// draw finds the fault whose interval on the line from 0 to 1 contains x, and counts it.
func (r *Relay) draw(x float64) string {
	for _, fault := range []struct {
		name string
		p    float64
	}{{"HalfOpen", r.faults.HalfOpen}, {"Cut", r.faults.Cut}, {"Corrupt", r.faults.Corrupt}, {"Slow", r.faults.Slow}} {
		if x -= fault.p; x < 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.counts[fault.name]++
			return fault.name
		}
	}
	return ""
}

func (r *Relay) within() int {
	if r.faults.Within > 0 {
		return r.faults.Within
	}
	return 64 << 10
}

// stretch is one direction of a connection.
type stretch struct {
	w     io.Writer
	fault string // "" for none
	after int    // bytes until the fault
	bit   byte
}

var errCut = errors.New("transporttest: the relay cuts the connection")

func (s *stretch) Write(p []byte) (int, error) {
	at := s.after
	s.after -= len(p)
	switch here := at >= 0 && at < len(p); {
	case s.fault == "Slow":
		return s.crawl(p)
	case here && s.fault == "Cut":
		n, _ := s.w.Write(p[:at])
		return n, errCut
	case here && s.fault == "Corrupt":
		p = slices.Clone(p)
		p[at] ^= 1 << s.bit
	}
	return s.w.Write(p)
}

func (s *stretch) crawl(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var m int
		m, err = s.w.Write(p[:min(len(p), 1<<10)])
		n, p = n+m, p[m:]
		time.Sleep(time.Millisecond)
	}
	return n, err
}
