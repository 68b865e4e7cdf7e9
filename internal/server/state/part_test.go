package state

import (
	"errors"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestEachBlock: a span of dense values lies in all blocks that it touches, in their order, up to the first that fails.
func TestEachBlock(t *testing.T) {
	p := &Part{Store: new(table.Store)}
	for _, b := range []layout.Block{{At: 0, Size: 4}, {At: 4, Size: 2}, {At: 6, Size: 3}} {
		p.blocks = append(p.blocks, b)
		p.Store.Blocks = append(p.Store.Blocks, table.Block{Values: table.NewDense(b.Size, nil)})
	}
	full := errors.New("full")
	for _, c := range []struct {
		from, to int
		fails    int // at which block
		want     [][3]int
	}{
		{0, 9, -1, [][3]int{{0, 0, 4}, {0, 4, 6}, {0, 6, 9}}},
		{3, 7, -1, [][3]int{{3, 0, 1}, {0, 1, 3}, {0, 3, 4}}},
		{4, 6, -1, [][3]int{{0, 0, 2}}},
		{5, 5, -1, nil},
		{0, 9, 1, [][3]int{{0, 0, 4}, {0, 4, 6}}},
	} {
		var got [][3]int
		err := p.EachBlock(c.from, c.to, func(d *table.Dense, at, lo, hi int) error {
			if got = append(got, [3]int{at, lo, hi}); len(got)-1 == c.fails {
				return full
			}
			return nil
		})
		if !slices.Equal(got, c.want) || (err != nil) != (c.fails >= 0) {
			t.Errorf("[%d, %d): %v, %v, want %v", c.from, c.to, got, err, c.want)
		}
	}
}

// TestBlockAt: a dense value has the name of its param and its place there, also on the border of two blocks.
func TestBlockAt(t *testing.T) {
	p := &Part{Layout: &layout.Layout{Params: []*optimizer.Param{{Name: "a"}, {Name: "b"}}},
		blocks: []layout.Block{{Param: 0, At: 0, Size: 4, Offset: 10}, {Param: 1, At: 4, Size: 2}}}
	for i, want := range map[int]string{0: `"a" at element 10`, 3: `"a" at element 13`, 4: `"b" at element 0`, 5: `"b" at element 1`, 6: "nothing"} {
		if got := p.BlockAt(i); got != want {
			t.Errorf("value %d is %s, want %s", i, got, want)
		}
	}
}

// TestWeights: a frame has at most one dense section, of as many values as its span says.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		sections [][]float32
		want     int // -1: it is refused
	}{
		{nil, 0},
		{[][]float32{{1, 2, 3}}, 3},
		{[][]float32{{1, 2}}, -1},
		{[][]float32{{1, 2, 3}, {1, 2, 3}}, -1},
	} {
		var b wire.Builder
		b.Reset(wire.Header{Op: wire.OpStep})
		for _, s := range c.sections {
			b.Dense(s)
		}
		var f wire.Frame
		if err := f.Parse(slices.Concat(b.Parts()...)); err != nil {
			t.Fatal(err)
		}
		var room []float32
		dense, from, to, err := new(Part).Weights(&f, 3, &room)
		if refused := err != nil; refused != (c.want < 0) || !refused && (len(dense) != c.want || from != 0 || to != 3) {
			t.Errorf("%v: %v of [%d, %d), %v", c.sections, dense, from, to, err)
		}
	}
}

// TestIDsOfOthers: a server takes the ids that live on it, and refuses others by name, be they the first or the last of
// a list; and so what is out of range.
func TestIDsOfOthers(t *testing.T) {
	where, err := strategy.Strategy{Mode: strategy.ModeSync, MinBlockSize: 8, SmallBlocks: true}.PlacementOptions()
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New([]*optimizer.Param{{Name: "emb", Shape: []int{100, 2}, Embedding: true}}, 2, where)
	if err != nil {
		t.Fatal(err)
	}
	for server := range 2 {
		p := &Part{Index: server, Layout: l}
		var own []uint64
		for id := range uint64(100) {
			if err := p.CheckIDs(&l.Embeddings[0], []uint64{id}); (err == nil) != p.Owns(0, id) {
				t.Errorf("server %d takes row %d, which it owns (%t): %v", server, id, p.Owns(0, id), err)
			}
			if p.Owns(0, id) {
				own = append(own, id)
			}
		}
		if err := p.CheckIDs(&l.Embeddings[0], own); err != nil || len(own) == 0 || len(own) == 100 {
			t.Errorf("server %d owns %d rows: %v", server, len(own), err)
		}
		if err := p.CheckIDs(&l.Embeddings[0], []uint64{100}); err == nil {
			t.Error("row 100 of 100 is taken")
		}
	}
}

// TestWhichEmbedding: a frame names a param among all, and its rows are found among embeddings alone.
func TestWhichEmbedding(t *testing.T) {
	p := &Part{Layout: &layout.Layout{Embeddings: []layout.Embedding{{Index: 1}, {Index: 4}}}}
	for param, want := range map[uint32]int{0: -1, 1: 0, 2: -1, 4: 1, 5: -1} {
		if e, err := p.Embedding(param); err == nil && e != want || (err == nil) != (want >= 0) {
			t.Errorf("param %d is embedding %d, %v", param, e, err)
		}
	}
}
