package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// BenchmarkLoad has 8 workers pull and push rows of 16 floats at one server over loopback TCP, each its next request when it
// has the answer, and reports the times that half and 99 % of the pulls and pushes keep to, and what a million rows cost the
// process, clients and server together.
func BenchmarkLoad(b *testing.B) {
	for _, ids := range []int{1, 64, 512, 4096} {
		b.Run(fmt.Sprintf("8workers/%drows", ids), func(b *testing.B) { benchLoad(b, 8, ids) })
	}
}

func benchLoad(b *testing.B, workers, ids int) {
	const dim, height = 16, 1_000_000
	p := &optimizer.Param{Name: "rows", Shape: []int{height, dim}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
	clients := loopback(b, workers, strategy.Async(), optimizer.SGD{LR: 0.01}, p)
	users := make([]*user, workers)
	var all sync.WaitGroup
	for w := range users {
		users[w] = newUser(clients[w], w, ids, dim, height)
		for i := range users[w].batches {
			must(b, users[w].step(b, i)) // rows come to life
		}
		users[w].pulls, users[w].pushes = nil, nil
	}
	b.ResetTimer()
	before := cpuTime()
	for _, u := range users {
		all.Go(func() {
			for i := range (b.N + workers - 1) / workers {
				if err := u.step(b, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	took := cpuTime() - before
	var pulls, pushes []time.Duration
	for _, u := range users {
		pulls, pushes = append(pulls, u.pulls...), append(pushes, u.pushes...)
	}
	b.ReportMetric(at(pulls, 50), "pull-p50-us")
	b.ReportMetric(at(pulls, 99), "pull-p99-us")
	b.ReportMetric(at(pushes, 50), "push-p50-us")
	b.ReportMetric(at(pushes, 99), "push-p99-us")
	b.ReportMetric(took.Seconds()*1e6/float64((len(pulls)+len(pushes))*ids), "cpu-s/Mrow")
	b.ReportMetric(0, "ns/op")
}

// user is one worker of the load.
type user struct {
	c             *Client
	x             *exchange.Exchange
	batches       [][]uint64
	g, w          []float32
	pulls, pushes []time.Duration
}

func newUser(c *Client, worker, ids, dim, height int) *user {
	u := &user{c: c, x: exchange.New(&c.servers), batches: make([][]uint64, 16), g: make([]float32, ids*dim), w: make([]float32, ids*dim)}
	r := rand.New(rand.NewPCG(uint64(worker), 7))
	for i := range u.batches {
		for len(u.batches[i]) < ids {
			u.batches[i] = append(u.batches[i], r.Uint64N(uint64(height)))
			slices.Sort(u.batches[i])
			u.batches[i] = slices.Compact(u.batches[i])
		}
	}
	fill(u.g, 1e-3)
	return u
}

// step pulls the rows of a batch and pushes to them.
func (u *user) step(b *testing.B, i int) error {
	ids := u.batches[i%len(u.batches)]
	start := time.Now()
	if err := u.x.Run(b.Context(), exchange.Request{Op: wire.OpStep, Pull: []exchange.Rows{{IDs: ids, W: u.w}}}); err != nil {
		return err
	}
	pulled := time.Now()
	step, acked := u.c.servers.Sequence.Begin()
	defer u.c.servers.Sequence.End(step)
	r := exchange.Request{Op: wire.OpStep, Seq: step, Acked: acked, Push: gradient.Step{Samples: 1, Dense: [][]float32{nil}, Rows: []gradient.Rows{{IDs: ids, G: u.g}}}}
	if err := u.x.Run(b.Context(), r); err != nil {
		return err
	}
	u.pulls, u.pushes = append(u.pulls, pulled.Sub(start)), append(u.pushes, time.Since(pulled))
	return nil
}
