package nn

import (
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
)

// packedWeights are the weights of a model's layers by name, each laid out for products at its first use.
type packedWeights map[string]func() *kernels.Packed

func packedWeightsOf(nodes []*Node) packedWeights {
	packed := packedWeights{}
	for _, n := range nodes {
		if _, ok := n.op.(linear); !ok {
			continue
		}
		w := n.in[1]
		if v, ok := w.op.(variable); ok {
			packed[w.name] = sync.OnceValue(func() *kernels.Packed {
				return kernels.Pack(w.shape[0], w.shape[1],
					v.param.W)
			})
		}
	}
	return packed
}
