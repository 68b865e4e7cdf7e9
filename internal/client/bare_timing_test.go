package client

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/internal/session"

	"github.com/valyala/fasthttp"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// The figure to compare with is a fasthttp client and server with nothing of ours around them, moving as many bytes.

// idle is a rule that does nothing: what is left is the way to the rule.
type idle struct{ optimizer.SGD }

func (idle) Update([]float32, []float32, []float32, *optimizer.State) {}

// BenchmarkAgainstBare takes turns, a few calls each, so that both meet the same load of the machine, and compares medians:
// ours/bare is the time of ours in times of the bare one's, and p10-ours/bare that of the tenth of calls which met the least
// load. Ours goes all the way, from the client's gradients into the
// server's table; "rule" says what is applied there.
func BenchmarkAgainstBare(b *testing.B) {
	const floats = 1 << 20
	for _, c := range []struct {
		name     string
		size     int
		rule     optimizer.Rule
		up, down int
		call     func(*testing.B, *Client) func() error
	}{
		{"push/1float/sgd", 1, optimizer.SGD{LR: 0.01}, 128, 64, pushingDense},
		{"pull/1float", 1, optimizer.SGD{LR: 0.01}, 64, 128, pullingDense},
		{"push/4MB/norule", floats, idle{}, 4 * floats, 64, pushingDense},
		{"push/4MB/sgd", floats, optimizer.SGD{LR: 0.01}, 4 * floats, 64, pushingDense},
		{"pull/4MB", floats, optimizer.SGD{LR: 0.01}, 64, 4 * floats, pullingDense},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := &optimizer.Param{Name: "w", Shape: []int{c.size}, W: make([]float32, c.size), G: slices.Repeat([]float32{1e-3}, c.size)}
			clients := loopback(b, 1, strategy.Sync(), c.rule, p)
			bare := bareCaller(b, c.up, c.down)
			takeTurns(b, bare, c.call(b, clients[0]))
		})
	}
}

// pushingDense is the round trip of a push that wants nothing back.
func pushingDense(b *testing.B, c *Client) func() error {
	x := exchange.New(&c.servers)
	g := [][]float32{c.Layout.Params[0].G}
	return func() error {
		step, acked := c.servers.Sequence.Begin()
		defer c.servers.Sequence.End(step)
		r := exchange.Request{Op: wire.OpStep, Round: c.sessions.Round(), Push: gradient.Step{Samples: 1, Dense: g}, Seq: step, Acked: acked, All: true}
		if err := x.Run(b.Context(), r); err != nil {
			return err
		}
		c.sessions.Pushed()
		return nil
	}
}

// pullingDense is the round trip that brings the dense weights.
func pullingDense(b *testing.B, c *Client) func() error {
	x := exchange.New(&c.servers)
	x.Dense = session.Weights(c.Layout.Params)
	return func() error {
		x.Forget()
		return x.Run(b.Context(), exchange.Request{Op: wire.OpStep, Round: c.sessions.Round()})
	}
}

// takeTurns reports the median times of bare and ours, and their ratio.
func takeTurns(b *testing.B, bare, ours func() error) {
	var times [2][]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		for i, call := range []func() error{bare, ours} {
			for range 8 {
				start := time.Now()
				if err := call(); err != nil {
					b.Fatal(err)
				}
				times[i] = append(times[i], time.Since(start))
			}
		}
	}
	b.ReportMetric(at(times[0], 50), "bare-us")
	b.ReportMetric(at(times[1], 50), "ours-us")
	b.ReportMetric(at(times[1], 99), "ours-p99-us")
	b.ReportMetric(at(times[1], 50)/at(times[0], 50), "ours/bare")
	b.ReportMetric(at(times[1], 10)/at(times[0], 10), "p10-ours/bare")
	b.ReportMetric(0, "ns/op")
}

// at is the time that so many percent keep to, in microseconds. It sorts them.
func at(times []time.Duration, percent int) float64 {
	slices.Sort(times)
	return float64(times[len(times)*percent/100].Nanoseconds()) / 1000
}

// loopback is a job of one server on loopback TCP and the clients of its workers, all joined.
func loopback(b *testing.B, workers int, s strategy.Strategy, rule optimizer.Rule, params ...*optimizer.Param) []*Client {
	b.Helper()
	s = s.WithDefaults()
	where, err := s.PlacementOptions()
	must(b, err)
	l, err := layout.New(params, 1, where)
	must(b, err)
	log, net, fingerprint := slog.New(slog.DiscardHandler), &transport.FastHTTP{}, l.Fingerprint(rule, "test")
	endpoints := porttest.Free(b, 1)
	srv, err := server.New(server.Config{Workers: workers, Endpoints: endpoints, Layout: l, Rule: rule, Strategy: s, Fingerprint: fingerprint,
		Transport: net, Logger: log})
	must(b, err)
	served := make(chan error, 1)
	go func() { served <- srv.Run(context.Background()) }()
	clients := make([]*Client, workers)
	for w := range clients {
		clients[w] = New(Config{Worker: w, Workers: workers, Servers: endpoints, Layout: l, Rule: rule, Strategy: s, Fingerprint: fingerprint,
			Transport: net, Logger: log})
		must(b, clients[w].Join(b.Context()))
	}
	b.Cleanup(func() {
		for _, c := range clients {
			must(b, c.Leave(context.Background()))
		}
		must(b, <-served)
	})
	return clients
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// bareCaller starts a fasthttp server with nothing around it, and gives a call to it.
func bareCaller(b *testing.B, up, down int) (call func() error) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	answer, body := bytes.Repeat([]byte{1}, down), bytes.Repeat([]byte{1}, up) // untouched memory is all one page, in the cache
	s := fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(answer) },
		MaxRequestBodySize: 1 << 30, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ln) })
	client := &fasthttp.HostClient{Addr: ln.Addr().String(), MaxResponseBodySize: 1 << 30, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	b.Cleanup(func() { client.CloseIdleConnections(); _ = ln.Close(); serving.Wait() })
	return func() error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.Header.SetMethod(fasthttp.MethodPost)
		req.SetRequestURI("http://x/")
		req.SetBodyRaw(body)
		if err := client.Do(req, resp); err != nil {
			return err
		}
		if len(resp.Body()) != down {
			return fmt.Errorf("%d bytes", len(resp.Body()))
		}
		return nil
	}
}
