package state

import (
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// Reply is the answer to one request, with its memory. The transport sends that memory after the handler has returned,
// and then calls Done, which gives it to another request. So a steady stream of requests allocates nothing of their
// size.
type Reply struct {
	wire.Builder
	Frame wire.Frame
	Done  func() // returns the reply to its pool
	// Broken and First are the transport's; see [transport.Reply].
	Broken func() bool
	First  bool
	// Asked are the rows wanted, the first Wanted of them: the rest is memory for larger requests.
	Asked   []Asked
	Wanted  int
	Weights []float32
	// Ahead are the predicted dense weights that a push has computed for its answer.
	Ahead update.Ahead
	// ChangedRows are the rows that changed, by embedding.
	ChangedRows [][]float32
}

// Asked are the rows of an embedding that a frame requests.
type Asked struct {
	Embedding int // among the layout's embeddings
	Peek      bool
	IDs       []uint64
	Rows      []float32
}

// Grow returns a slice of n floats, b itself if it has room.
func Grow(b []float32, n int) []float32 {
	if cap(b) < n {
		return make([]float32, n)
	}
	return b[:n]
}
