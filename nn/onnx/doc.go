// Package onnx writes a saved model as a file of ONNX, which ONNX Runtime and others compute in programs of any
// language.
//
//	m, err := nn.Load("output/model")
//	err = onnx.Export(m, "model.onnx", onnx.Options{})
//
// From a shell, from within the module: go run ./examples/onnx -model=output/model -out=model.onnx. Files are of
// version 8 of ONNX's representation, with operators of version 17, and of ai.onnx.ml version 2 where there are lists
// of ids.
//
// # What a file is fed, and what it answers
//
// Inputs, outputs and weights have the names that they have in nn. Inputs are those of [nn.Scorer.Score]: float32, or
// int64 ids, of shape [N …]; of a slot its ids, and under name.offsets N+1 numbers that say where each example's
// begin; those of its values are the same, and no input. Ids of 64 bits are fed as the int64 of the same bits. Slots
// are padded within the file to the longest example of a call, so that one very long example takes memory for all.
//
// Answers are those of an [nn.Scorer], to 1e-5 of 1 or of a number above: runtimes add in another order. An id
// without a row reads as its first values where the embedding has a Height, whose rows are all written, and else as
// zeros; padding reads as zeros. An id outside of a Height, or a position of nn.Gather outside of its input, is
// refused by a runtime that checks indices, as ONNX Runtime does on processors.
//
// An embedding without a Height finds its rows by a list of ids, LabelEncoder, which is good for 1,000,000 of them.
// One with more is refused, unless [Options].Rows leaves it with the caller.
//
// # What stays outside
//
// A file begins at numbers and ids. What a model's format does to lines of text before that is the caller's: the
// metadata gofleet.rows has the format as JSON, gofleet.hashes each place of an input that is an id of a text, with
// the field, the height and examples to test a function with, and gofleet.version the [nn.Model]'s version. A
// model that was saved without a format has the last alone. In Python:
//
//	about = onnxruntime.InferenceSession("model.onnx").get_modelmeta().custom_metadata_map
//	for h in json.loads(about.get("gofleet.hashes", "[]")):
//		for text, id in h["examples"].items():
//			assert zlib.crc32((h["field"] + ":" + text).encode()) % h["height"] == id
//
// # What is refused
//
// Dropout and moving averages are as an evaluation has them. Losses, metrics, ops that draw candidates and nn.Custom
// are refused by name, with what to name in [Options].Outputs in their place; so is an op, or an attribute of one,
// that this package does not know.
//
// A batch of no rows is computed as any other, but for gru and lstm: a Scan over none ends ONNX Runtime 1.32 itself by
// a signal.
//
// Weights of ONNX files come in by package optimizer/weights.
package onnx

// The files of this package, in reading order:
//
//	export.go   a model's nodes, one after the other
//	builder.go  nodes of ONNX, and the constants that they take
//	ops.go      the table of ops, and formulas
//	layers.go   convolutions, norms, recurrent layers
//	tables.go   embeddings: where rows are, slots, sequences, pools
//	refused.go  what is not written, and why
//	about.go    what a file says of itself
//	proto.go    messages of ONNX
//	data.go     weights, in the file or in a second one
