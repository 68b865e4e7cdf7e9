package main

import (
	"github.com/gofleet/gofleet/examples/text/comments"
	"github.com/gofleet/gofleet/nn"
)

// newModel looks for phrases of two, three and four words (Kim, 2014): each filter of a convolution gives how much its
// phrase is anywhere in a text, and a layer over all filters the class.
func newModel(seed uint64, dim int, drop float32) (logits, class *nn.Node) {
	g := nn.NewGraph(seed)
	words := nn.EmbeddingSequence(g.IDs("words", longest), longest, nn.EmbeddingOptions{Name: "words of texts",
		Height: comments.Height, Dim: dim, PaddingIdx: new(int64(comments.Padding))})
	var found []*nn.Node
	for _, width := range []int{2, 3, 4} {
		phrases := nn.Conv1D(words.Rows, 64, nn.ConvOptions{Kernel: width, Act: nn.ReLU})
		found = append(found, nn.SequencePool(phrases, nil, nn.PoolMax))
	}
	h := nn.Dropout(nn.Concat(found...), drop)
	return nn.Linear(h, len(comments.Classes), nn.LinearOptions{}), g.IDs("class", 1)
}
