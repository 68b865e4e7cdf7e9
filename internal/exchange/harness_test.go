package exchange

import (
	"context"
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy/placement"
)

// servers are so many without a network: they answer what answer says, and remember the frames. The model is a dense param of 24
// weights and an embedding of width 2 without a height.
func servers(t *testing.T, n int, payload wire.Encoding, answer func(server int, f *wire.Frame, b *wire.Builder) error) *Servers {
	t.Helper()
	params := []*optimizer.Param{
		{Name: "w", Shape: []int{6, 4}, W: make([]float32, 24), G: make([]float32, 24)},
		{Name: "emb", Shape: []int{0, 2}, Embedding: true},
	}
	l, err := layout.New(params, n, placement.Options{MinBlockSize: 8, SmallBlocks: true})
	if err != nil {
		t.Fatal(err)
	}
	return &Servers{Layout: l, Payload: payload, MaxFrame: 1 << 20,
		Header: func(op wire.Op) wire.Header { return wire.Header{Op: op, Version: wire.NoDense} },
		Call: func(_ context.Context, server int, req [][]byte, read func(*wire.Frame) error) error {
			var f wire.Frame
			if err := f.Parse(joined(req)); err != nil {
				return err
			}
			var b wire.Builder
			b.Reset(wire.Header{Op: f.Op})
			if err := answer(server, &f, &b); err != nil || read == nil {
				return err
			}
			var back wire.Frame
			if err := back.Parse(joined(b.Parts())); err != nil {
				return err
			}
			return read(&back)
		}}
}

func joined(parts [][]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func fill(x []float32, v float32) []float32 {
	for i := range x {
		x[i] = v
	}
	return x
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
