package server

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// BenchmarkReads is what a request of a reader for 1,000 rows of 16 floats, of a table of a million, takes on a server without the network.
func BenchmarkReads(b *testing.B) {
	const height = 1_000_000
	s := job{strategy: strategy.Strategy{}, more: []*optimizer.Param{{Name: "large", Shape: []int{0, 16}, Embedding: true}}}.server(b)
	s.outside.rows.aSecond = 1 << 50
	t := s.part.Store.Tables[1]
	ids, zeros := make([]uint64, 1000), make([]float32, 16_000)
	for i := 0; i < height; i += len(ids) {
		for k := range ids {
			ids[k] = uint64(i + k)
		}
		if err := t.Set(ids, zeros, 0); err != nil {
			b.Fatal(err)
		}
	}
	ask := func(msg wire.Read, ids ...uint64) []byte {
		var f wire.Builder
		f.Reset(wire.Header{Op: wire.OpRead})
		if ids != nil {
			f.IDs(2, ids)
		}
		if err := f.JSON(msg); err != nil {
			b.Fatal(err)
		}
		return bytes.Join(f.Parts(), nil)
	}
	answer := func(body []byte) {
		var reply transport.Reply
		s.outside.handle(body, &reply)
		if body := bytes.Join(reply.Parts[:1], nil); body[6] != wire.StatusOK {
			b.Fatal("refused")
		}
		reply.Done()
	}
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for k := range ids {
				ids[k] = rand.Uint64N(height)
			}
			slices.Sort(ids)
			answer(ask(wire.Read{What: wire.ReadRows}, slices.Compact(slices.Clone(ids))...))
		}
	})
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			answer(ask(wire.Read{What: wire.ReadPage, Param: 2, Rows: 1000, From: rand.Uint64N(16) << 32}))
		}
	})
}
