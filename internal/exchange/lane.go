package exchange

import (
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// lane is the traffic with one server.
type lane struct {
	build   wire.Builder
	version uint64 // of the dense weights that this worker has from the server
	read    uint64 // the version of the server's weights when it answered last; 0 before
	asked   []int  // the pulled embeddings that this server has rows of
	push    []cutRows
	pull    []cutRows
	pieces  [][]float32
}

// cutRows is one server's share of an embedding's ids, gathered where they are scattered in the batch.
type cutRows struct {
	share  layout.Share
	ids    []uint64
	rows   []float32
	clicks []float32
}
