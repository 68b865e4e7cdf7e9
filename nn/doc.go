// Package nn provides the model side of gofleet: a static graph of layers, losses and metrics on float32, and an [Executor]
// that trains it and evaluates it. Where the weights live is not its business: a [optimizer.Trainer] brings them before every
// step and takes the gradients after it, be it a fleet of servers or this process alone.
//
// # Building
//
// A graph is built once, the same on every role of a job. The batch is the first dimension of every feed and is left out
// where shapes are written:
//
//	g := nn.NewGraph(1)
//	dense := g.Input("dense_input", 13) // float32 [N 13]
//	ids := g.IDs("C", 26)               // int64   [N 26]
//	label := g.Input("label", 1)        // float32 [N 1]
//
//	emb := nn.Embedding(ids, nn.EmbeddingOptions{Name: "SparseFeatFactors", Height: 1000001, Dim: 10})
//	h := nn.Linear(nn.Concat(emb, dense), 400, nn.LinearOptions{Act: nn.ReLU})
//	pred := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid})
//	loss := nn.Mean(nn.LogLoss(pred, label))
//	auc := nn.AUC(pred, label)
//
// Nothing fails while a graph is built. The first mistake is kept with the names and shapes involved, everything built on it
// stays silent, and [Graph.Err] tells it, as do Minimize and the executor.
//
// # What there is
//
//   - feeds: [Graph.Input], [Graph.IDs], and [Graph.Slot] for any number of ids an example
//   - tables: [Embedding], and [EmbeddingPool] for slots, with padding ids; weights of any shape: [Graph.Parameter]
//   - layers: [Linear], [Conv2D], [MaxPool2D], [AvgPool2D], [BatchNorm], [LayerNorm], [Dropout]
//   - functions: [ReLU], [LeakyReLU], [ELU], [GELU], [Swish], [Softplus], [Tanh], [Sigmoid], [Softmax], [LogSoftmax], [Clip], [Scale]
//   - arithmetic: [Add], [Subtract], [Multiply], [Divide], [MatMul], [Dot], [CosineSimilarity], [Sum], [Max], [Concat], [Reshape],
//     [Cast]
//   - losses, of which [Mean] makes the number to minimise: [LogLoss], [BinaryCrossEntropy], [BinaryCrossEntropyWithLogits],
//     [CrossEntropy], [SoftmaxWithCrossEntropy], [SquareError], [AbsoluteError], [SmoothL1]; and over a sample of very many
//     classes [NCE] and [SampledSoftmax], with candidates from a [Sampler]
//   - metrics: [AUC], [BatchAUC], [SlidingAUC], [BucketError], [MAE], [MSE], [RMSE], [Accuracy], [TopK], [BatchAccuracy], [BatchTopK],
//     [BinaryAccuracy], [Precision], [Recall]
//
// # Training
//
// A loss node is an [optimizer.Objective]: an optimizer's Minimize binds it to a trainer. Then
//
//	exe := nn.NewExecutor(g)
//	defer exe.Close(ctx)
//	out, err := exe.Train(ctx, feed, loss, auc) // one step; feed is a map[string]*tensor.Dense
//
// [Executor.Eval] computes without gradients, and only what the fetches need. [Executor.TrainFrom] is the loop for speed: it
// looks one batch ahead, so that the rows of the next step can travel early, and reports through [Progress]. [TrainThreads] is that
// loop in several threads.
//
// Feeds and fetches are contiguous, row-major gorgonia tensors of float32 or int64; a scalar has shape (1). Fetched tensors
// belong to the executor and are valid until its next call. A graph may have several executors, one a goroutine, each with metrics
// of its own: one that only evaluates is no training thread, in no mode.
//
// # Inference
//
// [Inference] cuts a graph down to what given outputs need; a fleet saves that with its weights, and [Load] reads the directory
// back, ready for Eval with no fleet.
package nn
