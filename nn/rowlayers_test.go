package nn

import (
	"testing"
)

// TestLayersAreOfTheirRow: scores of models of sequences have the bits that each row has alone, joined or not, whatever is masked.
func TestLayersAreOfTheirRow(t *testing.T) {
	const places, width = 7, 6
	for name, build := range map[string]func(x, query, mask *Node) *Node{
		"attention": func(x, _, mask *Node) *Node { return Attention(x, x, x, AttentionOptions{Heads: 2, Mask: mask}) },
		"transformer": func(x, _, mask *Node) *Node {
			return TransformerEncoder(PositionalEmbedding(x, ParameterOptions{}),
				TransformerOptions{Attention: AttentionOptions{Heads: 3, Mask: mask, Causal: true, Dropout: 0.5}})
		},
		"gru":           func(x, _, mask *Node) *Node { return GRU(x, 5, GRUOptions{Mask: mask}) },
		"bidirectional": func(x, _, mask *Node) *Node { return Bidirectional(LSTM, x, 3, RecurrentOptions{Mask: mask}) },
		"din":           func(x, query, mask *Node) *Node { return DIN(query, x, mask, DINOptions{}) },
		"mmoe": func(_, query, _ *Node) *Node {
			return Concat(MMoE(query, MMoEOptions{Experts: 3, Tasks: 2, Hidden: []int{5, 4}})...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const rows = 9
			g := NewGraph(1)
			out := build(g.Input("x", places, width), g.Input("query", width), g.Input("mask", places))
			if g.Err() != nil {
				t.Fatal(g.Err())
			}
			mask := uniform(3, rows*places, 0, 2)
			for i := range mask {
				mask[i] = float32(int(mask[i]))
			}
			clear(mask[:places]) // the first row has nothing
			feeds := batchOf{"x": floats([]int{rows, places, width}, uniform(1, rows*places*width, -1, 1)...),
				"query": floats([]int{rows, width}, uniform(2, rows*width, -1, 1)...), "mask": floats([]int{rows, places}, mask...)}
			for feed := range feeds {
				if !g.used(g.Node(feed)) {
					delete(feeds, feed)
				}
			}
			f, err := Inference(out).Freeze()
			if err != nil {
				t.Fatal(err)
			}
			ownRow(t, f, feeds)
		})
	}
}
