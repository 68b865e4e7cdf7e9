package server

import (
	"bytes"
	"io"
	"log/slog"
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// newServer is a server of one job of four weights and an embedding, joined by worker 0, whose weights are zero.
func newServer(t testing.TB, s strategy.Strategy) *Server {
	t.Helper()
	return job{strategy: s}.server(t)
}

// job is what a test's server differs in from that of newServer: it has more params, another rule, workers, or peers.
type job struct {
	strategy  strategy.Strategy
	more      []*optimizer.Param
	rule      optimizer.Rule
	workers   int
	endpoints []string
}

// server is a server of the job, joined by worker 0 alone.
func (j job) server(t testing.TB) *Server {
	t.Helper()
	server := j.empty(t)
	server.begin(t)
	return server
}

// empty is a server of the job that nobody has joined.
func (j job) empty(t testing.TB) *Server {
	t.Helper()
	if j.rule == nil {
		j.rule = optimizer.SGD{LR: 1}
	}
	if j.endpoints == nil {
		j.endpoints = []string{"server:1"}
	}
	params := []*optimizer.Param{{Name: "w", Shape: []int{4}, W: make([]float32, 4), G: make([]float32, 4)}, {Name: "emb", Shape: []int{100, 2}, Embedding: true}}
	s := j.strategy.WithDefaults()
	where, err := s.PlacementOptions()
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(append(params, j.more...), 1, where)
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Config{Process: 1, Workers: max(1, j.workers), Endpoints: j.endpoints, Layout: l, Rule: j.rule, Strategy: s,
		Fingerprint: l.Fingerprint(j.rule, "test"), Transport: transport.NewMemory(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// begin has worker 0 join, and publish the first weights.
func (s *Server) begin(t testing.TB) {
	t.Helper()
	var hello wire.Builder
	hello.Reset(wire.Header{Op: wire.OpJoin})
	if err := hello.JSON(wire.Hello{Fingerprint: s.c.Fingerprint}); err != nil {
		t.Fatal(err)
	}
	send(t, s, &hello, wire.StatusOK)
	var publish wire.Builder
	publish.Reset(wire.Header{Op: wire.OpPublish, Life: 1})
	publish.Dense(make([]float32, s.part.Floats))
	send(t, s, &publish, wire.StatusOK)
}

// send gives a frame, which proves its sender if it names no job, to the handler and fails t when the answer's status
// is another.
func send(t testing.TB, s *Server, b *wire.Builder, want uint8) {
	t.Helper()
	var reply transport.Reply
	s.door.handle(bodyOf(s, b), &reply)
	var f wire.Frame
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
		t.Fatal(err)
	}
	if f.Status != want {
		t.Fatalf("status %d, %v, want %d", f.Status, f.Refusal(), want)
	}
	reply.Done()
}

// bodyOf is a frame, with the job that its sender has if it names none.
func bodyOf(s *Server, b *wire.Builder) []byte {
	h := b.Header()
	switch g := s.st.Generation(); {
	case h.Job != 0:
	case h.Op == wire.OpFence || h.Op == wire.OpDrop || h.Op == wire.OpNorms || h.Op == wire.OpOrder:
		h.Job = g.Servers()
	default:
		h.Job = g.Life(h.Worker, h.Life)
	}
	return bytes.Join(b.Parts(), nil)
}

// pushOf is a step with a gradient of ones for the weights and for row 7.
func pushOf(s *Server, h wire.Header) *wire.Builder {
	h.Op, h.Samples, h.Life = wire.OpStep, 1, max(h.Life, 1)
	b := new(wire.Builder)
	b.Reset(h)
	b.Dense([]float32{1, 1, 1, 1})
	b.Rows(1, []uint64{7}, []float32{1, 1})
	return b
}

// weight is the first weight of a server's dense block.
func weight(t testing.TB, s *Server) float32 {
	t.Helper()
	var w [4]float32
	if err := s.part.Store.Blocks[0].Values.Pull(w[:]); err != nil {
		t.Fatal(err)
	}
	return w[0]
}

// TestPushCountsOnce sends the same frame again, as a worker does whose answer was lost.
func TestPushCountsOnce(t *testing.T) {
	for name, choice := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, choice)
			for range 3 {
				send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
			}
			if w, step := weight(t, s), s.part.Store.Step(); w != -1 || step != 1 {
				t.Errorf("weight %g at step %d after one push sent three times, want -1 at 1", w, step)
			}
			send(t, s, pushOf(s, wire.Header{Seq: 2, Round: 1, Acked: 2}), wire.StatusOK)
			if w := weight(t, s); w != -2 {
				t.Errorf("weight %g after the second push, want -2", w)
			}
			send(t, s, pushOf(s, wire.Header{Seq: 1, Acked: 1}), wire.StatusStale)
			if w := weight(t, s); w != -2 {
				t.Errorf("weight %g after an acknowledged push came late, want -2", w)
			}
		})
	}
}

// counted is a push of row 1 with shows and clicks.
func counted(bare func(wire.Header, func(*wire.Builder)) *wire.Builder, counts ...[]float32) *wire.Builder {
	return bare(wire.Header{}, func(b *wire.Builder) {
		b.Dense([]float32{1, 1, 1, 1})
		b.Rows(1, []uint64{1}, []float32{1, 1})
		for _, n := range counts {
			b.Clicks(1, n)
		}
	})
}

// TestWrongPushChangesNothing holds the handler to refusing frames as a whole.
//
// Promise: [G8] a wrong push is refused by the server, and changes nothing
// Also: TestWrongPiecesChangeNothing, TestNarrowPushesAreChecked
func TestWrongPushChangesNothing(t *testing.T) {
	s := newServer(t, strategy.Async())
	bare := func(h wire.Header, fill func(*wire.Builder)) *wire.Builder {
		b := new(wire.Builder)
		h.Op, h.Life, h.Samples, h.Seq = wire.OpStep, 1, 1, 1
		b.Reset(h)
		fill(b)
		return b
	}
	ones, nan := []float32{1, 1, 1, 1}, float32(math.NaN())
	tests := map[string]struct {
		frame *wire.Builder
		want  uint8
	}{
		"another job":        {pushOf(s, wire.Header{Job: 1, Seq: 1}), wire.StatusBack},
		"no such worker":     {pushOf(s, wire.Header{Worker: 5, Seq: 1}), wire.StatusRefused},
		"a life to come":     {pushOf(s, wire.Header{Life: 2, Seq: 1}), wire.StatusNotReady},
		"no dense gradients": {bare(wire.Header{}, func(*wire.Builder) {}), wire.StatusRefused},
		"too few":            {bare(wire.Header{}, func(b *wire.Builder) { b.Dense(ones[:3]) }), wire.StatusRefused},
		"id out of range": {bare(wire.Header{}, func(b *wire.Builder) {
			b.Dense(ones)
			b.Rows(1, []uint64{100}, ones[:2])
		}), wire.StatusRefused},
		"no embedding": {bare(wire.Header{}, func(b *wire.Builder) {
			b.Dense(ones)
			b.Rows(0, []uint64{1}, ones)
		}), wire.StatusRefused},
		"rows too wide": {bare(wire.Header{}, func(b *wire.Builder) {
			b.Dense(ones)
			b.Rows(1, []uint64{1}, ones)
		}), wire.StatusRefused},
		"not a number": {bare(wire.Header{}, func(b *wire.Builder) { b.Dense([]float32{1, 1, nan, 1}) }), wire.StatusRefused},
		"row not a number": {bare(wire.Header{}, func(b *wire.Builder) {
			b.Dense(ones)
			b.Rows(1, []uint64{1, 2}, []float32{1, 2, 3, nan})
		}), wire.StatusRefused},
		"embedding twice": {bare(wire.Header{}, func(b *wire.Builder) {
			b.Dense(ones)
			b.Rows(1, []uint64{1}, ones[:2])
			b.Rows(1, []uint64{2}, ones[:2])
		}), wire.StatusRefused},
		"counts of rows that aren't there": {counted(bare, ones, ones), wire.StatusRefused},
		"counts twice":                     {counted(bare, ones[:2], ones[:2]), wire.StatusRefused},
		"a negative count":                 {counted(bare, []float32{1, -1}), wire.StatusRefused},
		"a count that is no number":        {counted(bare, []float32{nan, 1}), wire.StatusRefused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { send(t, s, test.frame, test.want) })
	}
	if w, step := weight(t, s), s.part.Store.Step(); w != 0 || step != 0 {
		t.Errorf("weight %g at step %d after refused pushes, want 0 at 0", w, step)
	}
}
