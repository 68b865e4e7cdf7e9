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
//
// # A saved model in Python
//
// weights.safetensors is read by Python's safetensors (load_file) as arrays by name: "fc_0.w_0" of a dense parameter, "user.ids" and "user" of an
// embedding, ids ascending and row i that of id i. graph.json has the nodes, each after its inputs, with their attributes.
//
// A row that was never trained is in no file, but for those whose values an initializer of given values has (optimizer.Assign, or one's own): these
// are written. Where the embedding has no height it is zeros; where it has one, every evaluation sees the
// row's initial values, which are a function of the graph's seed, the embedding's name and the id:
//
//	import json, math, statistics, struct
//
//	M = 2**64 - 1  # integers are of 64 bits
//
//	def f32(x):
//	    return struct.unpack("f", struct.pack("f", x))[0]
//
//	def mix(x):
//	    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M
//	    x = (x ^ x >> 27) * 0x94D049BB133111EB & M
//	    return x ^ x >> 31
//
//	def initial_row(graph, name, id):
//	    """Row id of the embedding of that name, if it was never trained; graph is json.load(open("model/graph.json"))."""
//	    attrs = next(n for n in graph["nodes"] if n["name"] == name)["attrs"]
//	    height, dim = attrs["shape"]
//	    if height == 0 or attrs.get("init") is None:
//	        return [0.0] * dim
//	    key = 14695981039346656037
//	    for byte in name.encode():
//	        key = (key ^ byte) * 1099511628211 & M
//	    key = mix(key ^ mix(graph["seed"] + 0x9E3779B97F4A7C15 & M))
//	    key = mix(key ^ mix(id + 1))
//	    unit = lambda i: (mix(key + (i + 1) * 0x9E3779B97F4A7C15 & M) >> 11) * 2.0**-53
//	    a, b, kind = f32(attrs["init"]["a"]), f32(attrs["init"]["b"]), attrs["init"]["type"]
//	    if kind == "constant":
//	        value = lambda i: a
//	    elif kind == "uniform":
//	        value = lambda i: a + (b - a) * unit(i)
//	    elif kind == "normal":
//	        value = lambda i: a + b * math.sqrt(-2 * math.log(1 - unit(2 * i))) * math.cos(2 * math.pi * unit(2 * i + 1))
//	    else:  # truncated_normal
//	        n = statistics.NormalDist()
//	        value = lambda i: a + b * n.inv_cdf(n.cdf(-2) + (n.cdf(2) - n.cdf(-2)) * unit(i))
//	    return [f32(value(i)) for i in range(dim)]
package nn
