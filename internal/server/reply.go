package server

import (
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// reply is the answer to one request and the memory it is made of. The transport sends that memory after the handler
// has returned, and says done when it needs it no more; then it is another request's. So a steady stream of requests
// allocates nothing of their size.
type reply struct {
	wire.Builder
	frame wire.Frame
	done  func() // puts it back
	// broken is the transport's [transport.Reply.Broken].
	broken func() bool
	// asked are the rows wanted, the first so many of them: the memory of the others is for larger requests.
	asked  []asked
	wanted int
	dense  []float32
	// ahead are the dense weights that a push has left for its answer.
	ahead update.Ahead
	// changed are the rows that changed, by embedding.
	changed [][]float32
}

// asked are the rows of an embedding that a frame asks for.
type asked struct {
	e    int // among the layout's embeddings
	ids  []uint64
	rows []float32
}

// grow returns a slice of n floats, b itself if it has room.
func grow(b []float32, n int) []float32 {
	if cap(b) < n {
		return make([]float32, n)
	}
	return b[:n]
}
