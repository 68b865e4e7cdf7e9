package overlay

import (
	"math/bits"

	"github.com/gofleet/gofleet/internal/kernels"
)

// filter tests whether a layer may contain an id. It is true for every id of a layer, and false for about 98 in 100 of
// all others. Each id has four bits of one word (a Bloom filter in blocks, Putze, Sanders and Singler 2007), so that a
// test is one access to memory.
type filter []uint64

const idsPerWord = 6

// newFilter returns a filter for n ids; with more ids it is true too often.
func newFilter(n int) filter { return make(filter, 1+n/idsPerWord) }

func (f filter) holds(n int) bool { return n <= len(f)*idsPerWord }

func (f filter) add(l *layer) {
	for _, ids := range [][]uint64{l.ids, l.gone} {
		for _, id := range ids {
			at, mask := f.place(kernels.Mix(id))
			f[at] |= mask
		}
	}
}

// mayHave tests the id that kernels.Mix has turned into h.
func (f filter) mayHave(h uint64) bool {
	at, mask := f.place(h)
	return f[at]&mask == mask
}

func (f filter) place(h uint64) (at, mask uint64) {
	at, _ = bits.Mul64(h, uint64(len(f)))
	return at, 1<<(h&63) | 1<<(h>>6&63) | 1<<(h>>12&63) | 1<<(h>>18&63)
}
