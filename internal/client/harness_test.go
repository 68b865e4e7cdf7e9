package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// job is a job of real servers on a memory network: a dense param whose blocks lie on all servers, and rows of an embedding.
// It is made inside a bubble of testing/synctest, which also finds the goroutines that it leaves behind.
type job struct {
	t         *testing.T
	net       *transport.Memory
	strategy  strategy.Strategy
	workers   int
	endpoints []string
	log       io.Writer
	rule      optimizer.SGD
	frozen    bool // there is a frozen param

	serving sync.WaitGroup
	errs    []error // of the servers, once they have ended
}

func newJob(t *testing.T, servers, workers int, s strategy.Strategy) *job {
	s.SmallBlocks, s.MinBlockSize = true, 4
	j := &job{t: t, net: transport.NewMemory(), strategy: s.WithDefaults(), workers: workers, rule: rule, log: io.Discard, errs: make([]error, servers)}
	for i := range servers {
		j.endpoints = append(j.endpoints, fmt.Sprintf("server-%d:1", i))
	}
	return j
}

// params are a worker's own arrays of the job's params; every weight begins at zero.
func params() []*optimizer.Param {
	return []*optimizer.Param{
		{Name: "w", Shape: []int{6, 4}, W: make([]float32, 24), G: make([]float32, 24)},
		{Name: "emb", Shape: []int{0, 2}, Embedding: true},
	}
}

// still is the param that a job has too that has a frozen one.
func still() *optimizer.Param {
	return &optimizer.Param{Name: "mean", Shape: []int{1}, W: []float32{0}, Frozen: true}
}

var rule = optimizer.SGD{LR: 1}

func (j *job) layout() *layout.Layout {
	j.t.Helper()
	where, err := j.strategy.PlacementOptions()
	check(j.t, err)
	all := params()
	if j.frozen {
		all = append(all, still())
	}
	l, err := layout.New(all, len(j.endpoints), where)
	check(j.t, err)
	return l
}

// serve runs the servers of those indices until every worker has left, or the test ends.
func (j *job) serve(indices ...int) {
	ctx, cancel := context.WithCancel(j.t.Context())
	for _, i := range indices {
		l := j.layout()
		s, err := server.New(server.Config{Index: i, Workers: j.workers, Endpoints: j.endpoints, Layout: l, Rule: j.rule, Strategy: j.strategy,
			Fingerprint: l.Fingerprint(j.rule, "test"), Transport: j.net, Logger: slog.New(slog.DiscardHandler)})
		check(j.t, err)
		j.serving.Go(func() { j.errs[i] = s.Run(ctx) })
	}
	j.t.Cleanup(func() { cancel(); j.serving.Wait() })
}

// client is a client of a worker that has yet to join, on t or, nil, on the job's network.
func (j *job) client(worker int, t transport.Transport) *Client {
	if t == nil {
		t = j.net
	}
	l := j.layout()
	c := New(Config{Worker: worker, Workers: j.workers, Servers: j.endpoints, Layout: l, Rule: j.rule, Strategy: j.strategy, Fingerprint: l.Fingerprint(j.rule, "test"),
		Transport: t, Logger: slog.New(slog.NewTextHandler(j.log, nil))})
	if _, ok := t.(*script); ok {
		c.link.life.job = 0 // it has answers of no job
	}
	j.t.Cleanup(c.Close)
	return c
}

// join is a client that has joined.
func (j *job) join(worker int, t transport.Transport) *Client {
	j.t.Helper()
	c := j.client(worker, t)
	check(j.t, c.Join(j.t.Context()))
	return c
}

// thread is a training thread of a client: a session with arrays of its own.
type thread struct {
	t      *testing.T
	params []*optimizer.Param
	optimizer.Session
}

func open(t *testing.T, c *Client) *thread {
	t.Helper()
	p := params()
	if len(c.Layout.Params) > len(p) {
		p = append(p, still())
	}
	s, err := c.Open(p)
	check(t, err)
	return &thread{t, p, s}
}

// step is a step over ids whose gradients are all g; next are the ids of the next step, nil if not known.
func (th *thread) step(g float32, ids, next []uint64) *optimizer.Step {
	fill(th.params[0].G, g)
	r := optimizer.Rows{Param: th.params[1], IDs: ids, W: make([]float32, 2*len(ids)), G: make([]float32, 2*len(ids)), Next: next}
	fill(r.G, g)
	return &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}
}

// train makes one step and returns it, with the rows that Begin brought.
func (th *thread) train(g float32, ids, next []uint64) *optimizer.Step {
	th.t.Helper()
	st := th.step(g, ids, next)
	check(th.t, th.Begin(th.t.Context(), st))
	check(th.t, th.End(th.t.Context(), st))
	return st
}

// peek reads the weights and rows without training.
func (th *thread) peek(ids ...uint64) []float32 {
	th.t.Helper()
	st := th.step(0, ids, nil)
	st.Eval = true
	check(th.t, th.Begin(th.t.Context(), st))
	check(th.t, th.End(th.t.Context(), st))
	return append(append([]float32(nil), th.params[0].W...), st.Rows[0].W...)
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// all fails the test if a value is not want.
func all(t *testing.T, what string, got []float32, want float32) {
	t.Helper()
	for i, v := range got {
		if v != want {
			t.Fatalf("%s: value %d is %v, want %v", what, i, v, want)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tap looks at every request on its way, and may fail it instead of sending it, or after it was served.
type tap struct {
	transport.Transport
	before, after func(endpoint string, h wire.Header) error
	// later and afterwards take their places behind what a test begins with.
	later, afterwards func(endpoint string, h wire.Header) error
	calls             atomic.Int64
	idleClosed        atomic.Int64
}

func (p *tap) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	p.calls.Add(1)
	var f wire.Frame
	if err := f.Parse(bytes.Join(req, nil)); err != nil {
		return err
	}
	if p.before != nil {
		if err := p.before(endpoint, f.Header); err != nil {
			return err
		}
	}
	if p.after == nil {
		return p.Transport.Call(ctx, endpoint, req, read)
	}
	err := p.Transport.Call(ctx, endpoint, req, func([]byte) error { return nil })
	if e := p.after(endpoint, f.Header); err == nil && e != nil {
		return e
	}
	return p.Transport.Call(ctx, endpoint, req, read)
}

func (p *tap) CloseIdleConnections() { p.idleClosed.Add(1) }
