package nn

import (
	"testing"

	"gorgonia.org/tensor"
)

// recommender is the net of the recommendation benchmarks: 13 numbers and 26 ids, rows of 9, and layers of 512, 256, 128 and 32.
func recommender() (g *Graph, loss, auc *Node) {
	g = NewGraph(1)
	ids, dense, label := g.IDs("C", 26), g.Input("dense_input", 13), g.Input("label", 1)
	h := Concat(Embedding(ids, EmbeddingOptions{Name: "emb", Height: 1000001, Dim: 9}), dense)
	for _, size := range []int{512, 256, 128, 32} {
		h = Linear(h, size, LinearOptions{Act: ReLU})
	}
	pred := Linear(h, 1, LinearOptions{Act: Sigmoid})
	return g, Mean(LogLoss(pred, label)), AUC(pred, label)
}

func recommenderBatch(seed uint32, n int) batchOf {
	return batchOf{
		"C": int64sOf([]int{n, 26}, integers(seed, 26*n, 1000001)...), "dense_input": floats([]int{n, 13}, uniform(seed+1, 13*n, 0, 1)...),
		"label": floats([]int{n, 1}, uniform(seed+2, n, 0, 1)...),
	}
}

// BenchmarkTrain is forward and backward with a trainer that does nothing: what a step costs before any update.
func BenchmarkTrain(b *testing.B) {
	g, loss, auc := recommender()
	loss.Bind(still{})
	run(b, NewExecutor(g), func(e *Executor, feed batchOf) ([]*tensor.Dense, error) { return e.Train(b.Context(), feed, loss, auc) })
}

func BenchmarkEval(b *testing.B) {
	g, loss, _ := recommender()
	loss.Bind(still{})
	run(b, NewExecutor(g), func(e *Executor, feed batchOf) ([]*tensor.Dense, error) { return e.Eval(b.Context(), feed, loss) })
}

// BenchmarkMNIST is a training step of the MLP of 784-128-128-10.
func BenchmarkMNIST(b *testing.B) {
	loss := mnistNet(1800)
	loss.Bind(still{})
	e, feed := NewExecutor(loss.graph), mnistBatch(1800, 1, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Train(b.Context(), feed, loss); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
}

func run(b *testing.B, e *Executor, step func(*Executor, batchOf) ([]*tensor.Dense, error)) {
	const n = 512
	feeds := []batchOf{recommenderBatch(1, n), recommenderBatch(11, n), recommenderBatch(21, n)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := step(e, feeds[i%len(feeds)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
}
