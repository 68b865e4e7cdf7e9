package exchange

import (
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// lane is the traffic with one server.
type lane struct {
	build   wire.Builder
	version uint64 // of the server's dense weights that this worker has
	read    uint64 // the version of the server's weights in its last answer; 0 before any
	asked   []int  // the pulled embeddings of which this server has rows
	push    []cutRows
	pull    []cutRows
	pieces  [][]float32
}

// cutRows is one server's share of an embedding's ids, with memory to gather scattered ones.
type cutRows struct {
	share  layout.Share
	ids    []uint64
	rows   []float32
	clicks []float32
}
