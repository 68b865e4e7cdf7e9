package table

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
)

// columnsOf are rows of 3 numbers of state each as a file has them, random but for their ids.
func columnsOf(ids []uint64, dim int) Columns {
	r := rand.New(rand.NewPCG(1, 2))
	c := Columns{IDs: ids, Floats: make([]float32, len(ids)*3*dim)}
	for i := range c.Floats {
		c.Floats[i] = r.Float32()
	}
	for range ids {
		c.Steps, c.Seen, c.Updates = append(c.Steps, r.Int64N(9)), append(c.Seen, r.Uint32N(9)), append(c.Updates, r.Uint32N(900))
	}
	return c
}

// TestRestoreAllIsRestore puts rows back at once and one by one: the tables are the same in every bit, in the places of rows and in what is
// hot too, though some ids come twice, and no row of another's is there.
func TestRestoreAllIsRestore(t *testing.T) {
	law.Slow(t)
	const dim = 5
	r := rand.New(rand.NewPCG(3, 4))
	ids := make([]uint64, 20_000)
	for i := range ids {
		ids[i] = r.Uint64N(15_000)
	}
	c, owns := columnsOf(ids, dim), func(id uint64) bool { return id%3 != 0 }
	for name, stateless := range map[string]bool{"state": false, "weights alone": true} {
		c.Stateless = stateless
		atOnce, single := newSparse(t, embedding(0, dim), optimizer.Adam{}), newSparse(t, embedding(0, dim), optimizer.Adam{})
		single.seed = atOnce.seed
		check(t, Filler{atOnce, owns}.Rows(&c))
		for i, id := range ids {
			if row := c.row(&single.kind, i); owns(id) {
				check(t, Filler{Table: single}.Row(row))
			}
		}
		for i := range atOnce.shards {
			got, want := bitsOf(&atOnce.shards[i].arena), bitsOf(&single.shards[i].arena)
			if !slices.Equal(got, want) || len(got) == 0 {
				t.Fatalf("%s: shard %d has other rows than single restores make, or none (%d)", name, i, len(got))
			}
		}
		if d := cmp.Diff(single.Hot(hotLen), atOnce.Hot(hotLen)); d != "" || atOnce.Clock() != single.Clock() {
			t.Errorf("%s: clock %d and %d, hot rows (-single +at once):\n%s", name, single.Clock(), atOnce.Clock(), d)
		}
		if d := cmp.Diff(rowsOf(single, 9), rowsOf(atOnce, 9)); d != "" {
			t.Errorf("%s: rows (-single +at once):\n%s", name, d)
		}
	}
}

// bitsOf are the rows of an arena as they lie there.
func bitsOf(a *arena) (bits []uint32) {
	for row := range a.rows {
		for _, x := range (layout{stride: a.stride}).floats(a.at(row)) {
			bits = append(bits, math.Float32bits(x))
		}
	}
	return bits
}

// TestRestoreAllRefuses gives rows that are none of the table's.
func TestRestoreAllRefuses(t *testing.T) {
	everything := func(uint64) bool { return true }
	good := func() Columns { return columnsOf([]uint64{1, 2, 3, 4}, 2) }
	for name, wrong := range map[string]struct {
		change func(*Columns)
		want   error
	}{
		"few steps":       {func(c *Columns) { c.Steps = c.Steps[1:] }, ErrShape},
		"few times":       {func(c *Columns) { c.Seen = c.Seen[1:] }, ErrShape},
		"few updates":     {func(c *Columns) { c.Updates = c.Updates[1:] }, ErrShape},
		"few clicks":      {func(c *Columns) { c.Show = make([]float32, 4) }, ErrShape},
		"half a row":      {func(c *Columns) { c.Floats = c.Floats[1:] }, ErrShape},
		"narrow rows":     {func(c *Columns) { c.Floats = c.Floats[:4] }, ErrShape},
		"a part of state": {func(c *Columns) { c.Floats = c.Floats[:12] }, ErrShape},
		"out of height":   {func(c *Columns) { c.IDs[2] = 100 }, ErrID},
	} {
		c := good()
		wrong.change(&c)
		if err := (Filler{newSparse(t, embedding(100, 2), optimizer.Adam{}), everything}).Rows(&c); !errors.Is(err, wrong.want) {
			t.Errorf("%s: error %v, want %v", name, err, wrong.want)
		}
	}
	many := columnsOf(make([]uint64, 100_000), 16)
	for i := range many.IDs {
		many.IDs[i] = uint64(i)
	}
	if err := (Filler{boundedTable(t, 1<<20, optimizer.Entry{}), everything}).Rows(&many); !errors.Is(err, ErrFull) {
		t.Errorf("more rows than there is room for: error %v", err)
	}
	c := good()
	check(t, Filler{newSparse(t, embedding(100, 2), optimizer.Adam{}), everything}.Rows(&c))
	check(t, Filler{newSparse(t, embedding(100, 2), optimizer.Adam{}), everything}.Rows(&Columns{}))
}
