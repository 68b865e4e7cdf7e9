// Package nn provides the models of gofleet: a static graph of layers, losses and metrics on float32, and an [Executor]
// that trains and evaluates it. An [optimizer.Trainer], such as a fleet or the process alone, provides the weights
// before every step and takes the gradients after it.
//
// # Building
//
// Every role of a job builds the same graph, once. The batch is the first dimension of every feed and is omitted from
// the shapes in the program:
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
// Functions that build a graph return no errors. The graph keeps the first mistake, with the line of the program that
// made it and the names and shapes involved; nodes built on it report nothing further. [Graph.Err], Minimize and the
// executor return that error. Print a graph to see it as a table ([Graph.String]), or draw it with Graphviz
// ([Graph.Dot]).
//
// # Operations
//
//   - feeds: [Graph.Input], [Graph.IDs], [Graph.Slot] for any number of ids an example, and [Graph.SlotValues] for
//     numbers beside them
//   - parameters: [Embedding]; for slots [EmbeddingPool], [EmbeddingPoolWeighted] and [EmbeddingSequence]; all with
//     padding ids; weights of any shape: [Graph.Parameter]
//   - sequences: [SequencePool], over the positions that a mask has
//   - layers: [Linear], [Conv1D], [Conv2D], [MaxPool2D], [AvgPool2D], [GlobalMaxPool2D], [GlobalAvgPool2D],
//     [BatchNorm], [LayerNorm], [GroupNorm], [Dropout], [Attention], [TransformerEncoder], [PositionalEmbedding],
//     [GRU], [LSTM], [Bidirectional], [DIN], [MMoE], [FM], [Cross]; [Shared] applies layers to several inputs with one set of
//     parameters; [Custom] is an operation of your own
//   - element-wise functions: [ReLU], [LeakyReLU], [PReLU], [Dice], [ELU], [GELU], [Swish], [SiLU], [Softplus], [Tanh],
//     [Sigmoid], [Log], [Log1p], [Exp], [Sqrt], [Square], [Pow], [Abs], [Clip], [Scale]
//   - arithmetic: [Add], [Subtract], [Multiply], [Divide], with broadcasting; [MatMul], [MatMulT], [Dot],
//     [CosineSimilarity]
//   - along an axis: [Sum], [MeanAxis], [Max], [Softmax], [MaskedSoftmax], [LogSoftmax]
//   - shapes: [Concat], [ConcatAxis], [Stack], [Split], [Slice], [Gather], [Transpose], [Reshape], [Expand]; [Cast],
//     [Detach]
//   - losses, which [Mean] reduces to the number to minimise: [LogLoss], [BinaryCrossEntropy],
//     [BinaryCrossEntropyWithLogits], [CrossEntropy], [SoftmaxWithCrossEntropy], [SquareError], [AbsoluteError],
//     [SmoothL1], [FocalLoss], [Hinge], [Contrastive], [BPR]; over a sample of very many classes [NCE] and
//     [SampledSoftmax], with candidates from a [Sampler]; of two towers [InBatchSoftmax], with [Frequencies]; for the
//     order of the rows of a group [RankNet] and [LambdaRank].
//     [WeightedMean] weighs examples, by their labels with [ClassWeights]
//   - metrics: [AUC], [BatchAUC], [SlidingAUC], [GroupAUC], [GroupNDCG], [GroupMRR], [BucketError], [MAE], [MSE],
//     [RMSE], [Accuracy], [TopK], [BatchAccuracy], [BatchTopK], [BinaryAccuracy], [Precision], [Recall], [F1], [PRAUC], [MacroPrecision],
//     [MacroRecall], [MacroF1], [ConfusionMatrix], [NDCG], [RecallAt]; [Weighted] gives them weights
//
// OPS.md in this directory lists all of them with their formulas, and their names in PyTorch, Keras and Fleet.
//
// # Training
//
// A loss node is an [optimizer.Objective]: an optimizer's Minimize binds it to a trainer. Then
//
//	exe := nn.NewExecutor(g)
//	defer exe.Close(ctx)
//	out, err := exe.Train(ctx, feed, loss, auc) // one step; feed is a map[string]*tensor.Dense
//	fmt.Println(nn.Scalar(out[0]), nn.Scalar(out[1]))
//
// [Executor.Eval] computes only what the fetches need, without gradients. [Executor.TrainFrom] is the fast training
// loop: it reads one batch ahead, so that the rows of the next step can be prefetched, and reports through [Progress].
// [TrainThreads] runs that loop in several threads.
//
// Feeds come from package dataset, or from slices:
//
//	feed := map[string]*tensor.Dense{"dense_input": nn.Floats(x, 13), "C": nn.Ints(ids, 26), "label": nn.Floats(y)}
//
// Feeds and fetches are contiguous, row-major gorgonia tensors of float32 or int64, ids also of uint64; a scalar has
// shape (1). Fetched tensors belong to the executor and are valid until its next call. A graph may have several
// executors, one per goroutine, each with metrics of its own. An executor that only evaluates does not count as a
// training thread in any mode.
//
// # Inference
//
// [Inference] reduces a graph to the nodes that given outputs need. A fleet saves that with its weights. Package
// nn/serve loads the directory, and scores rows with it for any number of goroutines.
//
// Package optimizer/weights converts weights from elsewhere, such as PaddlePaddle, to such a directory, and exports
// embeddings from it to files of other programs.
//
// # Elsewhere
//
// A model's weights.safetensors is read by Python's safetensors; SERVING.md has the names of its arrays, and a program
// for rows that were never trained.
package nn

// The files of this package, in reading order.
//
// Building a graph:
//
//	graph.go        a model as its nodes, the first mistake in it, and what gradients of a loss reach
//	node.go         a value: a feed, a parameter, or the result of an op; rules of shapes
//	op.go           the computation of a node, as plain data, and what ops may say of themselves
//	input.go        feeds and parameters
//	custom.go       a program's own ops
//	limit.go        limits on the values of an op's inputs
//	initializer.go  initial values that depend on a parameter's shape
//	objective.go    a loss, as optimizer.Objective
//	summary.go      the graph as a table and as a drawing
//
// A step of an executor:
//
//	executor.go  Train and Eval, from feed to fetches, and who is to blame for a number that is not finite
//	plan.go      the nodes that some fetches need, their memory, forward and backward
//	inhand.go    feeds made of slices, and the number of a fetch
//	feed.go      a batch checked, the ids of each table made unique
//	cell.go      a node in an executor: its value, its gradient, its memory
//	aside.go     what cores do beside a step
//	chain.go     cells that a core computes together for some examples
//	cores.go     work shared among cores, and panics in it
//	session.go   the executor's parameters, the trainer's session, the number of the job's step, moving averages
//	table.go     the rows that a batch uses, with their shows and clicks, and those read beside the loss
//
// Training loops:
//
//	result.go     what a loop has done so far
//	progress.go   reports of progress, where they go, and which of several processes writes them
//	report.go     the lines of one loop
//	trainfrom.go  the loop that reads a batch ahead, also as one of several
//	threads.go    several loops at once
//
// Lookups:
//
//	embedding.go  rows of ids
//	slot.go       rows of any number of ids, pooled
//	sequence.go   rows of any number of ids, one after the other, with their mask
//
// Layers:
//
//	linear.go        fully connected
//	conv.go          convolution in one dimension or two
//	slide.go         along positions as they are
//	pool.go          a window that slides over an image, its largest or its mean
//	batchnorm.go     every channel's mean and variance over the batch
//	layernorm.go     every example's, or those of groups of its channels
//	dropout.go       elements set to 0 while training
//	attention.go     attention between positions, its heads, a transformer's block
//	recurrent.go     a state that is updated position by position: GRU, LSTM
//	interactions.go  products of features: FM, Cross; rows weighed by a query: DIN; experts that tasks share: MMoE
//	shared.go        layers with one set of parameters for several inputs
//
// Functions of one element:
//
//	formula.go      tables of ops that are formulas
//	elementwise.go  ReLU, Tanh, GELU, Log, Clip and others, without trained numbers
//	prelu.go        PReLU, Dice, whose slopes are trained
//
// Arithmetic:
//
//	broadcast.go   shapes that are repeated to fit each other, Expand
//	arithmetic.go  sums, with biases; products, quotients, differences, Scale
//	matmul.go      matrix products, also of each example
//	dot.go         a query with each of its candidates, cosine similarity
//	reduce.go      Sum, MeanAxis and Max along an axis
//	concat.go      values side by side, Stack; parts of a value, Gather
//	transpose.go   axes in another order, other dimensions, another type, no gradient
//
// Losses:
//
//	mean.go          the number to minimise, also of examples that have weights
//	softmax.go       a distribution, also over some positions, and its logarithm
//	losses.go        formulas of a difference, or of an element and its binary label
//	crossentropy.go  of classes, from probabilities or logits
//	nce.go           losses over a sample of very many classes, and the distributions of the sample
//	inbatch.go       of two towers, over the items of the batch, and frequencies of items
//	rankloss.go      of the order of the rows of a group
//
// Metrics:
//
//	metric.go         counts that add up over executors
//	auc.go            AUC, of all batches, of one, or of the last; probabilities against rates
//	groupauc.go       AUC within groups
//	grouprank.go      NDCG and reciprocal ranks of groups
//	accuracy.go       Accuracy and TopK, Precision, Recall, BinaryAccuracy
//	errors.go         MAE, MSE, RMSE
//	measure.go        metrics that are formulas of sums, and weights in all
//	measurecounts.go  an example's contribution to the sums, and the values of the sums
//	given.go          nodes as they would be with other predictions, and copies
//
// Saved models:
//
//	inference.go  the part of a graph that outputs need, written and read
//	signature.go  a model's inputs and outputs, and the format of its rows
//	registry.go   ops by their names in a saved graph
//	frozen.go     outputs for many goroutines, from weights that stay
