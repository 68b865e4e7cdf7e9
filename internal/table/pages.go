package table

import (
	"cmp"
	"slices"
)

// Pages go through a table by where the index has its rows: by shard, and there by hash. A page costs what its rows
// cost, where one by ascending ids looks through the whole table, and nothing is kept between two. A row's place is its
// id's, whatever is born, dropped or loaded meanwhile, as long as this process keeps the table: another has other
// hashes.

// fewestLooks is how many segments of the index a page looks at before it has fewer rows than it may have.
const fewestLooks = 32

// Page are the ids of rows from a place on, ascending, about n of them, and the place behind; done says that there is
// none. The first place is 0. Who goes from page to page has each row once that is there all the time. Where most rows
// were dropped a page has few, or none: the index stays as large as it was, and no call looks through all of it.
func (t *Sparse) Page(from uint64, n int) (ids []uint64, next uint64, done bool) {
	for looks := max(fewestLooks, n); looks > 0 && len(ids) < max(1, n) && from>>32 < uint64(len(t.shards)); looks-- {
		shard, behind := from>>32, uint64(0)
		ids, behind = t.shards[shard].page(ids, uint32(from), n)
		from = shard<<32 + behind // behind all hashes the next shard begins
	}
	return sorted(ids), from, from>>32 >= uint64(len(t.shards))
}

// found is a row that a segment of the index has.
type found struct{ hash, row uint32 }

// page appends the ids of rows of a segment of the index from a hash on, no more than make n, and returns the hash
// behind them. Rows of one hash stay together.
func (s *shard) page(ids []uint64, from uint32, n int) (_ []uint64, behind uint64) {
	s.Lock()
	defer s.Unlock()
	var room [segmentLen]found
	all, behind := s.index.from(from, room[:0])
	if most := max(1, n-len(ids)); len(all) > most {
		slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.hash, b.hash) })
		for most < len(all) && all[most].hash == all[most-1].hash {
			most++
		}
		if most < len(all) {
			all, behind = all[:most], uint64(all[most].hash)
		}
	}
	for _, f := range all {
		ids = append(ids, s.arena.at(f.row).id)
	}
	return ids, behind
}

// from appends the rows of the segment that has a hash, from that hash on, and returns the first hash behind it.
func (x *index) from(hash uint32, all []found) (_ []found, behind uint64) {
	p := x.at(hash)
	for _, e := range p.entries {
		if h := uint32(e >> 32); uint32(e) != 0 && h >= hash {
			all = append(all, found{h, uint32(e) - 1})
		}
	}
	width := 32 - p.size.depth
	return all, (uint64(hash)>>width + 1) << width
}
