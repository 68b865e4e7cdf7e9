package table

import (
	"math/bits"

	"github.com/gofleet/gofleet/optimizer"
)

// item is one id of a call.
type item struct {
	id   uint64
	hash uint32 // the low bits: the place in the shard's index
	at   uint32 // the id's place in the call
}

// call is the working memory of one call. Calls are pooled: a steady table allocates nothing.
type call struct {
	items  []item
	hashes []uint64
	ends   []uint32 // end of each shard's group in items
	blocks [2]block
	given  [blockLen]*float32 // the caller's rows of the next block

	rows   []float32 // the caller's
	clicks Clicks    // the caller's
	step   int64
	clock  uint32
	state  optimizer.State
	past   [64]optimizer.State // of the steps that are replayed, by step modulo 64
	zeros  []float32
	res    Result
	nearly bool // a row was created in a shard that is nearly full
	stops  bool // shows or clicks of a row have reached the largest count
	grown  bool // the norms of a shard are worth a look
	err    error

	out     *Columns // filled by a read
	largest uint64   // of the ids that are read

	played *played // set in a replayed push
}

// mix spreads ids over shards and indexes. It differs from the hash that spreads ids over servers, since all ids of a
// server have the same remainder of that one.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0x0e9846af9b1a615d
	x ^= x >> 32
	x *= 0x0e9846af9b1a615d
	return x ^ x>>28
}

// group sorts the ids by shard (a counting sort), and returns the largest id. Ids of one shard keep their order, so
// that an id that comes twice in a push is updated twice in that order.
func (c *call) group(ids []uint64, shards int, seed uint64) (largest uint64) {
	c.grow(len(ids), shards)
	shift := shardShift(shards)
	for i, id := range ids {
		largest = max(largest, id)
		h := mix(id ^ seed)
		c.hashes[i] = h
		c.ends[h>>shift]++
	}
	sum := uint32(0)
	for s, n := range c.ends {
		c.ends[s] = sum
		sum += n
	}
	for i, id := range ids {
		h := c.hashes[i]
		at := c.ends[h>>shift]
		c.ends[h>>shift] = at + 1
		c.items[at] = item{id, uint32(h), uint32(i)}
	}
	return largest
}

// shardShift is the shift that leaves of a hash the bits which choose among that many shards.
func shardShift(shards int) uint { return uint(64 - bits.Len(uint(shards-1))) }

func (c *call) grow(n, shards int) {
	if cap(c.items) < n {
		c.items, c.hashes = make([]item, n+n/4), make([]uint64, n+n/4)
	}
	c.items, c.hashes = c.items[:n], c.hashes[:n]
	if len(c.ends) != shards {
		c.ends = make([]uint32, shards)
	}
	clear(c.ends)
}

// of returns the group of one shard.
func (c *call) of(shard int) []item {
	from := uint32(0)
	if shard > 0 {
		from = c.ends[shard-1]
	}
	return c.items[from:c.ends[shard]]
}
