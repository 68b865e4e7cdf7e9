package weights_test

import (
	"context"
	"log"

	"fmt"
	"os"
	"strings"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// Vectors of words, as word2vec, gensim, GloVe and fastText write them, come in by the ids of one's own vocabulary, and go out as text.
func ExampleWord2Vec() {
	file := strings.NewReader("3 2\nthe 0.1 0.2\ncat -1 0.5\ndog -1.5 0.25\n")
	in := weights.Word2Vec{Text: true, Words: []string{"dog", "cat"}}
	if err := weights.WriteText(os.Stdout, in.Read(file)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1	-1,0.5
	// 0	-1.5,0.25
}

// A model trained in PaddlePaddle predicts here what it predicted there. Its parameters come from Python by
//
//	numpy.savez("paddle.npz", **{p.name: numpy.array(scope.find_var(p.name).get_tensor()) for p in program.list_vars() if p.persistable})
//
// or, of a dygraph model, by numpy.savez("paddle.npz", **{name: p.numpy() for name, p in model.state_dict().items()}).
func ExampleSaveModel() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	g := nn.NewGraph(1) // the same layers, in the same order: so their parameters are called the same
	numbers, ids, image := g.Input("numbers", 5), g.IDs("ids", 3), g.Input("image", 1, 6, 6)
	emb := nn.Embedding(ids, nn.EmbeddingOptions{Name: "cards", Height: 12, Dim: 4, PaddingIdx: new(int64(0))})
	h := nn.BatchNorm(nn.Linear(nn.Concat(emb, numbers), 8, nn.LinearOptions{Act: nn.ReLU}), nn.NormOptions{})
	h = nn.LayerNorm(nn.Linear(h, 6, nn.LinearOptions{Act: nn.Tanh}), nn.NormOptions{})
	c := nn.MaxPool2D(nn.Conv2D(image, 3, nn.ConvOptions{Kernel: 3, Act: nn.ReLU}), nn.PoolOptions{Kernel: 2})
	pred := nn.Sigmoid(nn.Linear(nn.Concat(h, nn.Reshape(c, 12)), 1, nn.LinearOptions{})).Named("pred")

	paddle, err := weights.Open(ctx, "testdata/paddle.npz")
	if err != nil {
		log.Fatal(err)
	}
	defer paddle.Close()
	err = weights.SaveModel(ctx, dir, nn.Inference(pred), weights.Source{
		File:  paddle,
		Names: map[string]string{"cards": "embedding_0.w_0"}, // the one param with a name of its own
	})
	if err != nil {
		log.Fatal(err)
	}

	s, err := serve.OpenScorer(dir, serve.ScorerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	scores, err := s.Score(ctx, map[string]*tensor.Dense{
		"numbers": nn.Floats([]float32{1, 0, 0, 0, 0}, 5), "ids": nn.Ints([]int64{3, 0, 7}, 3), "image": nn.Floats(make([]float32, 36), 1, 6, 6)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.6f\n", scores.Values[0][0]) // Paddle says 0.957979
	// Output: 0.957979
}
