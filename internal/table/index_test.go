package table

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// rowsIn walks over the index and returns the hash of every row, each segment once.
func rowsIn(t *testing.T, x *index) map[uint32]uint32 {
	t.Helper()
	rows, seen, used := map[uint32]uint32{}, map[*entries]bool{}, 0
	for i, p := range x.places {
		if seen[p.entries] {
			continue
		}
		seen[p.entries] = true
		used += int(p.size.used)
		for _, e := range p.entries {
			if e == 0 {
				continue
			}
			hash, row := uint32(e>>32), uint32(e)-1
			if x.at(hash).entries != p.entries {
				t.Fatalf("row %d lies in the segment of place %d, its hash %#x belongs elsewhere", row, i, hash)
			}
			rows[row] = hash
		}
	}
	if len(seen) != x.count || used != len(rows) {
		t.Fatalf("%d segments and %d rows, the index counts %d and %d", len(seen), len(rows), x.count, used)
	}
	return rows
}

// chain is every row that a lookup of a hash would pass by.
func chain(x *index, hash uint32) map[uint32]bool {
	found, seg := map[uint32]bool{}, x.at(hash).entries
	for at := hash & segmentMask; seg[at] != 0; at = (at + 1) & segmentMask {
		if uint32(seg[at]>>32) == hash {
			found[uint32(seg[at])-1] = true
		}
	}
	return found
}

func TestIndexIsAMap(t *testing.T) {
	for name, mask := range map[string]uint32{"spread": 1<<32 - 1, "crowded": 0xffc0_0007, "one segment": 0x3ff} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				limit := 4000
				if name == "one segment" {
					limit = segmentFull // rows of one hash can't be parted
				}
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
				x, twin, next := newIndex(), map[uint32]uint32{}, uint32(0)
				for range rapid.IntRange(1, 6).Draw(rt, "phases") {
					for range min(rapid.IntRange(0, limit).Draw(rt, "inserted"), limit-len(twin)) {
						hash := r.Uint32() & mask
						x.insert(hash, next)
						twin[next] = hash
						next++
					}
					removed := rapid.IntRange(0, len(twin)).Draw(rt, "removed")
					for row, hash := range twin {
						if removed--; removed < 0 {
							break
						}
						x.remove(hash, row)
						delete(twin, row)
					}
				}
				got := rowsIn(t, &x)
				if len(got) != len(twin) {
					rt.Fatalf("%d rows, want %d", len(got), len(twin))
				}
				for row, hash := range twin {
					if got[row] != hash || !chain(&x, hash)[row] {
						rt.Fatalf("row %d with hash %#x is not found", row, hash)
					}
				}
			})
		})
	}
}

// TestIndexGrowth: a growing index takes at most indexBytes a row, on which bounds count.
func TestIndexGrowth(t *testing.T) {
	x, r := newIndex(), rand.New(rand.NewPCG(1, 2))
	for row := range uint32(100_000) {
		x.insert(r.Uint32(), row)
		if row > leastRows && x.bytes() > indexBytes*int(row) {
			t.Fatalf("row %d: the index has %d bytes", row, x.bytes())
		}
	}
	if load := 100_000 / float64(x.count*segmentLen); load < 0.37 || load > 0.75 {
		t.Errorf("%.2f of the index is used", load)
	}
}
