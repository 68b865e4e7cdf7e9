package nn_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// The wide and deep model: a linear part over dense features beside a network over those and the embeddings of 26 ids.
func Example() {
	g := nn.NewGraph(1)
	dense, ids, label := g.Input("dense_input", 13), g.IDs("C", 26), g.Input("label", 1)

	h := nn.Embedding(ids, nn.EmbeddingOptions{
		Name: "SparseFeatFactors", Height: 1000001, Dim: 10, Init: optimizer.Uniform{Low: -0.05, High: 0.05}})
	h = nn.Concat(h, dense)
	for range 3 {
		h = nn.Linear(h, 400, nn.LinearOptions{Act: nn.ReLU, Init: nn.FanIn{Normal: true}})
	}
	deep, wide := nn.Linear(h, 1, nn.LinearOptions{}), nn.Linear(dense, 1, nn.LinearOptions{})
	pred := nn.Sigmoid(nn.Add(deep, wide))
	loss := nn.Mean(nn.LogLoss(pred, label))

	fmt.Println(pred, loss, g.Err())
	for _, p := range loss.Params()[:3] {
		fmt.Println(p.Name, p.Shape)
	}
	// Output:
	// "sigmoid_0" [N 1] "mean_0" [1] <nil>
	// SparseFeatFactors [1000001 10]
	// fc_0.w_0 [273 400]
	// fc_0.b_0 [400]
}

// Slices in hand are fed as they are, and a fetch of one element is a number.
func ExampleFloats() {
	g := nn.NewGraph(1)
	total := nn.Mean(nn.Sum(g.Input("x", 3), 1))
	out, err := nn.NewExecutor(g).Eval(context.Background(), map[string]*tensor.Dense{"x": nn.Floats([]float32{1, 2, 3, 4, 5, 6}, 3)}, total)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", nn.Scalar(out[0]))
	// Output: 10.50
}

// What a graph is made of, and how large its parameters are.
func ExampleGraph_String() {
	g := nn.NewGraph(1)
	dense, ids, words, label := g.Input("dense", 13), g.IDs("C", 26), g.Slot("words"), g.Input("label", 1)
	rows := nn.Embedding(ids, nn.EmbeddingOptions{Name: "emb", Height: 1000001, Dim: 10})
	query := nn.EmbeddingPool(words, nn.PoolMean, nn.EmbeddingOptions{Name: "word", Dim: 16})
	h := nn.Linear(nn.Concat(rows, query, dense), 64, nn.LinearOptions{Act: nn.ReLU})
	pred := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid})
	nn.Mean(nn.LogLoss(pred, label))
	fmt.Println(g)
	// Output:
	// node              op              shape    of                                        values     bytes  parameters
	// dense             input           [N 13]
	// C                 ids             [N 26]
	// words             slot            [N]
	// label             input           [N 1]
	// embedding_0       embedding       [N 260]  C                                     10,000,010  38.1 MiB  emb [1000001 10]
	// embedding_pool_0  embedding_pool  [N 16]   words                                       open      open  word [open 16]
	// concat_0          concat          [N 289]  embedding_0, embedding_pool_0, dense
	// fc_0              linear          [N 64]   concat_0                                  18,560  72.5 KiB  .w_0 [289 64], .b_0 [64]
	// relu_0            relu            [N 64]   fc_0
	// fc_1              linear          [N 1]    relu_0                                        65     260 B  .w_0 [64 1], .b_0 [1]
	// sigmoid_0         sigmoid         [N 1]    fc_1
	// log_loss_0        log_loss        [N 1]    sigmoid_0, label
	// mean_0            mean            [1]      log_loss_0
	// trained: 18,625 dense values (72.8 KiB), 10,000,010 of embeddings (38.1 MiB when all rows are born)
	// embedding "word": open, 64 B a row
}

// A mistake is told once, with the line that made it, names and shapes, wherever the graph is used.
func ExampleGraph_Err() {
	g := nn.NewGraph(1)
	pred := nn.Linear(g.Input("x", 13), 2, nn.LinearOptions{Act: nn.Sigmoid})
	loss := nn.Mean(nn.LogLoss(pred, g.Input("label", 1)))
	_, err := nn.NewExecutor(g).Train(context.Background(), nil, loss)
	fmt.Println(err)
	// Output:
	// nn: log_loss "log_loss_0" (example_test.go:85): shapes differ: "sigmoid_0" [N 2] and "label" [N 1]
}

// A hundred thousand words are too many to score for every example: the true one is told from five that are drawn.
func ExampleNCE() {
	const words, dim, drawn = 100_000, 16, 5
	g := nn.NewGraph(1)
	word, candidates, expected := g.IDs("word", 1), g.IDs("candidates", 1+drawn), g.Input("expected", 1+drawn)
	vector := nn.Embedding(word, nn.EmbeddingOptions{Name: "emb", Height: words, Dim: dim})
	near := nn.Embedding(candidates, nn.EmbeddingOptions{Name: "context", Height: words, Dim: dim})
	loss := nn.Mean(nn.NCE(nn.Dot(vector, near), expected))
	fmt.Println(loss, loss.Err())

	ids, counts := []int64{42, 0, 0, 0, 0, 0}, make([]float32, 1+drawn) // where batches are made
	nn.Candidates(nn.LogUniformSampler{Classes: words}, rand.New(rand.NewPCG(1, 2)), ids, counts)
	fmt.Println("the word", ids[0], "and", ids[1:])
	// Output:
	// "mean_0" [1] <nil>
	// the word 42 and [2410 201 347 139 9749]
}

// A deep interest network: what a user has clicked counts by how it fits the item, and two tasks share experts.
func ExampleDIN() {
	g := nn.NewGraph(1)
	user, item, history := g.IDs("user", 1), g.IDs("item", 1), g.Slot("history")
	click, buy := g.Input("click", 1), g.Input("buy", 1)

	items := nn.EmbeddingOptions{Name: "items", Height: 100000, Dim: 16}
	target := nn.Embedding(item, items)
	clicked := nn.EmbeddingSequence(history, 20, items)
	interest := nn.DIN(target, clicked.Rows, clicked.Mask, nn.DINOptions{Hidden: []int{36}})
	h := nn.Concat(target, interest, nn.Embedding(user, nn.EmbeddingOptions{Name: "users", Height: 100000, Dim: 16}))
	tasks := nn.MMoE(h, nn.MMoEOptions{Experts: 4, Tasks: 2, Hidden: []int{64, 32}})
	clicks := nn.Linear(tasks[0], 1, nn.LinearOptions{Act: nn.Sigmoid})
	buys := nn.Linear(tasks[1], 1, nn.LinearOptions{Act: nn.Sigmoid})
	loss := nn.Add(nn.Mean(nn.LogLoss(clicks, click)), nn.Mean(nn.LogLoss(buys, buy)))

	fmt.Println(interest, tasks[0], loss, g.Err())
	// Output: "din_0" [N 16] "mmoe_0.task_0" [N 32] "add_0" [1] <nil>
}

// What comes next after 50 clicks, by attention to those before (as SASRec does) and by a GRU (as GRU4Rec does).
func ExampleTransformerEncoder() {
	const places, dim, items = 50, 32, 10000
	g := nn.NewGraph(1)
	clicks := nn.EmbeddingSequence(g.Slot("clicks"), places, nn.EmbeddingOptions{Name: "items", Height: items, Dim: dim})

	h := nn.PositionalEmbedding(clicks.Rows, nn.ParameterOptions{})
	for range 2 {
		h = nn.TransformerEncoder(h, nn.TransformerOptions{
			Attention: nn.AttentionOptions{Heads: 2, Mask: clicks.Mask, Causal: true, Dropout: 0.2}})
	}
	last := nn.Gather(h, g.IDs("last")) // the place of each example's last click
	read := nn.GRU(clicks.Rows, dim, nn.GRUOptions{Mask: clicks.Mask})
	state := nn.Slice(read, 1, places-1, places)
	scores := nn.Linear(nn.Concat(last, nn.Reshape(state, dim)), items, nn.LinearOptions{})
	loss := nn.Mean(nn.SoftmaxWithCrossEntropy(scores, g.IDs("next", 1)))

	fmt.Println(h, last, loss, g.Err())
	// Output: "transformer_1.norm_1" [N 50 32] "gather_0" [N 32] "mean_0" [1] <nil>
}
