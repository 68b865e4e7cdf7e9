package nn

import (
	"math"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestSummary prints what the example of String does not have.
func TestSummary(t *testing.T) {
	g := NewGraph(1)
	x, ids := g.Input("x", 4), g.IDs("ids", 2)
	emb := EmbeddingOptions{Name: "emb", Height: math.MaxInt, Dim: 2}
	a, b := Embedding(ids, emb), Embedding(g.IDs("ids2", 1), emb)
	h := BatchNorm(Concat(x, a, x, b, x), NormOptions{Name: "norm"})
	Multiply(Linear(h, 3, LinearOptions{Name: "fc", NoBias: true}), x) // a mistake
	g.Parameter(ParameterOptions{Name: "lonely", Init: optimizer.Constant{Value: 1}}, 3, 2)
	const want = `
node         op          shape   of                                       values              bytes  parameters
x            input       [N 4]
ids          ids         [N 2]
embedding_0  embedding   [N 4]   ids                                     1.8e+19  68719476736.0 GiB  emb [9223372036854775807 2]
ids2         ids         [N 1]
embedding_1  embedding   [N 2]   ids2                                                                emb as above
concat_0     concat      [N 18]  x, embedding_0, x, embedding_1, 1 more
norm         batch_norm  [N 18]  concat_0                                     72              288 B  .w_0 [18], .b_0 [18], .w_1 [18] frozen, .w_2 [18] frozen
fc           linear      [N 3]   norm                                         54              216 B  .w_0 [18 3]
lonely       parameter   [3 2]                                                 6               24 B  lonely [3 2]
trained: 96 dense values (384 B), 1.8e+19 of embeddings (68719476736.0 GiB when all rows are born)
frozen: 36 dense values (144 B)
mistake: nn: multiply "multiply_0": shapes differ: "fc" [N 3] and "x" [N 4]: dimensions after the batch, from the right, must be equal or 1
`
	if got := "\n" + origins.ReplaceAllString(g.String(), ""); got != want {
		t.Errorf("got %s", got)
	}
}

// TestSummaryOfNothing has no row, and no parameter.
func TestSummaryOfNothing(t *testing.T) {
	const want = "node  op  shape  of  values  bytes  parameters\ntrained: 0 dense values (0 B)\n"
	if got := NewGraph(1).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
