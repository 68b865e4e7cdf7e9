package table

import "unsafe"

// Stats describes a table's size.
type Stats struct {
	Rows  int
	Bytes int // arenas and indexes, what is allocated ahead included
	// Shards is their number; MinShard and MaxShard are the rows of the smallest and the largest.
	Shards, MinShard, MaxShard int
	// Load is the part of the index that is used.
	Load float64
}

// Stats looks at every shard, one after the other.
func (t *Sparse) Stats() Stats {
	st := Stats{Shards: len(t.shards), MinShard: int(^uint(0) >> 1)}
	entries := 0
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		rows := int(s.arena.rows)
		st.Bytes += s.arena.bytes() + s.index.bytes() + int(unsafe.Sizeof(*s))
		entries += s.index.count * segmentLen
		s.Unlock()
		st.Rows += rows
		st.MinShard, st.MaxShard = min(st.MinShard, rows), max(st.MaxShard, rows)
	}
	st.Load = float64(st.Rows) / float64(entries)
	return st
}

// Len is the number of rows.
func (t *Sparse) Len() int { return t.Stats().Rows }

// Bytes is the memory the table takes.
func (t *Sparse) Bytes() int { return t.Stats().Bytes }
