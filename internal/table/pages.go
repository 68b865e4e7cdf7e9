package table

import (
	"cmp"
	"slices"
)

// Pages go through a table in the order of its indexes: by shard, and in a shard by hash. A page costs only as much as
// its rows, while a page by ascending ids would search the whole table, and nothing is kept between two pages. A row's
// place depends on its id alone, whatever rows are created, dropped or loaded meanwhile, as long as this process keeps
// the table: another process has other hashes.

// fewestLooks is the number of index segments that a page searches before it returns fewer rows than requested.
const fewestLooks = 32

// Page returns the ids of about n rows from a place on, ascending, and the next place; done reports that there is none.
// The first place is 0. A reader that goes from page to page gets each row that exists all the time once. If most rows
// were dropped, a page has few rows, or none: the index stays as large as it was, and no call searches all of it.
func (t *Sparse) Page(from uint64, n int) (ids []uint64, next uint64, done bool) {
	for looks := max(fewestLooks, n); looks > 0 && len(ids) < max(1, n) && from>>32 < uint64(len(t.shards)); looks-- {
		shard, behind := from>>32, uint64(0)
		ids, behind = t.shards[shard].page(ids, uint32(from), n)
		from = shard<<32 + behind // after the last hash the next shard begins
	}
	return sorted(ids), from, from>>32 >= uint64(len(t.shards))
}

// found is a row in a segment of the index.
type found struct{ hash, row uint32 }

// page appends the ids of a segment's rows from a hash on, until there are n, and returns the next hash. Rows of one
// hash stay together.
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

// from appends the rows of the segment that has a hash, from that hash on, and returns the first hash of the next
// segment.
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
