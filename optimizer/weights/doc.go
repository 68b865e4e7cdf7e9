// Package weights exports embeddings and weights to files of other programs, and imports them.
//
// A [Row] is an id with its numbers. Rows come from a fleet that trains (its Rows), from a file, or from a function,
// and are streamed one by one, so that a table may be larger than memory.
//
//	file, err := os.Create("words.bin")
//	err = weights.Word2Vec{Words: words}.Write(file, f.Rows(ctx, "emb"))       // from a running job
//
//	model, err := weights.Open(ctx, "output/model")                            // from a saved model, without a job
//	defer model.Close()
//	err = weights.WriteNPZ(file, "emb", model.Rows("emb"))
//
//	for row, err := range weights.ReadText(file) { … }                         // and back
//
// # Formats
//
//	what                                   written by           read by             by other programs
//	text: id, tab, numbers with commas     WriteText            ReadText            awk, pandas
//	word2vec, binary and text              Word2Vec.Write       Word2Vec.Read       word2vec, gensim; GloVe's and fastText's .vec
//	.npy, one array, row i that of id i    WriteNPY             Open, File.Rows     numpy.save, numpy.load
//	.npz, ids and rows by name             WriteNPZ             Open, File.Rows     numpy.savez, savez_compressed, load
//	.safetensors, ids and rows by name     WriteSafetensors     Open, File.Rows     safetensors of Python and Rust, torch
//	dense weights by name                  a saved model        Open, File.Array    .npz, .npy, .safetensors
//	.onnx, initializers by name            package nn/onnx      Open, File.Array    torch.onnx, tf2onnx
//	a saved model                          SaveModel            Open, serve.Load       weights.safetensors, see the doc of nn
//	its base with deltas                   and a fleet's        serve.Load, RowsOf
//
// # Import, for training and serving
//
// [SaveModel] makes the directory of a saved model from a graph and weights in any of these files, such as those of a
// network trained in PaddlePaddle. Serve it like any other model, with serve.Load or a Scorer, or begin a job of any
// kind from it by Restore: each server reads the rows that it owns, and no worker needs the whole table. For example,
// word vectors for one embedding of an otherwise new model:
//
//	err := weights.SaveModel(ctx, "words", nn.Inference(net.embedding), weights.Source{
//		Rows: map[string]iter.Seq2[weights.Row, error]{"emb": weights.Word2Vec{Words: vocabulary}.Read(file)},
//	})                                                                          // once
//	err = f.Restore(ctx, "words", fleet.RestoreOptions{Params: []string{"emb"}})  // on every role, after Minimize
//
// A dense array can also be a layer's initial values: optimizer.Assign.
//
// # Names and shapes from PaddlePaddle
//
// Layers without names are named as in PaddlePaddle's static graphs: fc_0.w_0 [in out] and fc_0.b_0; embedding_0.w_0
// [height dim]; conv2d_0.w_0 [out in h w] and conv2d_0.b_0; layer_norm_0.w_0 (scale) and .b_0 (shift);
// batch_norm_0.w_0, .b_0, .w_1 (mean) and .w_2 (variance). Map other names in Source.Names. Linear layers of PyTorch
// are [out in]: transpose them when you save them. If you forget, the shape is an error, unless inputs and outputs have
// the same number.
//
// # Errors
//
// Arrays are little-endian and row-major. Numbers are float32, or float64, which are rounded, or, of safetensors and
// ONNX, float16 or bfloat16; ids are integers of 32 or 64 bits. For another type or order the error says how to save
// the array. A truncated file, or one that does not match its header, is an error too. Readers are safe for untrusted
// files: a header can't make them allocate memory for data that does not follow, and an ONNX model can't make them read
// files outside its directory.
package weights

// The files of this package, in reading order:
//
//	row.go          an id and its numbers
//	text.go         a line for each row
//	word2vec.go     words and their numbers
//	spool.go        rows in a temporary file until their number is known, by ascending id
//	file.go         open files of named arrays
//	array.go        an array of such a file, read
//	npy.go          one array of numpy
//	npz.go          several arrays of numpy
//	safetensors.go  arrays of safetensors
//	onnx.go         the initializers of ONNX models
//	model.go        a saved model as such a file
//	save.go         a saved model made from such files
