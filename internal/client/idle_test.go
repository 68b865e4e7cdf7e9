package client

import (
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// relay passes TCP connections on to an endpoint and knows which are open.
type relay struct {
	net.Listener
	to        string
	accepting chan struct{} // closed when no connection comes any more
	conns     sync.WaitGroup
	made      int
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	r := &relay{Listener: l, to: to, accepting: make(chan struct{})}
	go func() {
		defer close(r.accepting)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.made++
			r.conns.Go(func() { r.pass(c) })
		}
	}()
	t.Cleanup(r.wait)
	return r
}

// wait takes no more connections and waits until the clients have closed theirs.
func (r *relay) wait() {
	r.Close()
	<-r.accepting
	r.conns.Wait()
}

// pass copies both ways until the client closes its end.
func (r *relay) pass(c net.Conn) {
	defer c.Close()
	out, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(c, out)
	}()
	_, _ = io.Copy(out, c)
	out.Close()
	<-back
}

// TestNoConnectionStays trains over TCP and leaves; the server goes on for another worker, and yet every connection is closed.
func TestNoConnectionStays(t *testing.T) {
	for _, end := range []string{"Leave", "Close"} {
		t.Run(end, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			address := l.Addr().String()
			check(t, l.Close())
			r := newRelay(t, address)

			j := newJob(t, 1, 2, strategy.Async())
			j.endpoints = []string{address}
			layout := j.layout()
			s, err := server.New(server.Config{Workers: 2, Endpoints: j.endpoints, Layout: layout, Rule: rule, Strategy: j.strategy,
				Fingerprint: layout.Fingerprint(rule, "test"), Transport: &transport.FastHTTP{}, Logger: slog.New(slog.DiscardHandler)})
			check(t, err)
			j.serving.Go(func() { _ = s.Run(t.Context()) }) // worker 1 never comes: only the end of the test ends it
			t.Cleanup(j.serving.Wait)

			j.endpoints = []string{r.Addr().String()}
			c := j.join(0, &transport.FastHTTP{})
			th := open(t, c)
			for range 5 {
				th.train(1, []uint64{1, 2}, nil)
			}
			if end == "Leave" {
				check(t, c.Leave(t.Context()))
			} else {
				check(t, th.Close(t.Context()))
				c.Close()
			}
			r.wait()
			if r.made == 0 {
				t.Error("no connection went through the relay")
			}
		})
	}
}
