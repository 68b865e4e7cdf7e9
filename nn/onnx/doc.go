// Package onnx writes a saved model as a file of ONNX, which ONNX Runtime and others compute in programs of any
// language.
//
//	m, err := serve.Load("output/model")
//	err = onnx.Export(m, "model.onnx", onnx.Options{})
//
// From a shell, from within the module: go run ./examples/onnx -model=output/model -out=model.onnx. Files are of
// version 8 of ONNX's representation, with operators of version 17, and of ai.onnx.ml version 2 where there are lists
// of ids.
//
// # Inputs and outputs
//
// Inputs, outputs and weights have the names that they have in nn. Inputs are those of [serve.Scorer.Score]: float32,
// or int64 ids, of shape [N …]; for a slot its ids, and under name.offsets N+1 numbers that say where the ids of each
// example begin; a slot's values use the same offsets. 64-bit ids are fed as the int64 with the same bits. Within the
// file, slots are padded to the longest example of a call, so one very long example costs memory for all.
//
// Results equal those of an [serve.Scorer] to 1e-5, relative for numbers above 1, since runtimes add in a different
// order. An id without a row reads as its initial values if the embedding has a Height, whose rows are all written, and
// otherwise as zeros; padding reads as zeros. An id above the Height, or a position of nn.Gather outside its input, is
// an error in runtimes that check indices, as ONNX Runtime does on CPUs.
//
// An embedding without a Height finds its rows by a LabelEncoder, which supports 1,000,000 ids. An embedding with more
// is refused, unless [Options].Rows names it, so that the caller provides its rows.
//
// # What the caller must do
//
// A file takes numbers and ids. The caller must convert lines of text to them, as the model's format does: the metadata
// gofleet.rows has the format as JSON; gofleet.hashes lists each position of an input that is the hash of a text, with
// the field, the height and examples for testing; gofleet.version is the [serve.Model]'s version. A model saved without
// a format has only the last. In Python:
//
//	about = onnxruntime.InferenceSession("model.onnx").get_modelmeta().custom_metadata_map
//	for h in json.loads(about.get("gofleet.hashes", "[]")):
//		for text, id in h["examples"].items():
//			assert zlib.crc32((h["field"] + ":" + text).encode()) % h["height"] == id
//
// # Limits
//
// Dropout and moving averages behave as in an evaluation. Losses, metrics, ops that draw candidates and nn.Custom are
// refused by name, with the nodes to name in [Options].Outputs instead; so are unknown ops and attributes.
//
// An empty batch works like any other, except with gru and lstm: a Scan over an empty batch crashes ONNX Runtime 1.32.
//
// Package optimizer/weights imports weights from ONNX files.
package onnx

// The files of this package, in reading order:
//
//	export.go   a model's nodes, one after the other
//	builder.go  nodes of ONNX, and their constants
//	ops.go      the table of ops, and formulas
//	layers.go   convolutions, norms, recurrent layers
//	tables.go   embeddings: places of rows, slots, sequences, pools
//	refused.go  ops that are not written, and why
//	about.go    the description in a file
//	proto.go    messages of ONNX
//	data.go     weights, in the file or in a second one
