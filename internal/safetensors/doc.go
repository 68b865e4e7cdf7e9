// Package safetensors reads and writes safetensors files: named arrays behind a small JSON table. Python (safetensors,
// torch, numpy), Rust and others read them too.
//
// The format is a little-endian uint64 with the header's length, the header, and the data. The header is one JSON
// object
//
//	{"__metadata__": {"key": "value"}, "w": {"dtype": "F32", "shape": [784, 128], "data_offsets": [0, 401408]}, …}
//
// padded with spaces so that data begin on a multiple of 8 bytes. Offsets count from there; data are little-endian,
// row-major, without gaps.
//
// Writing is in two phases, so that a table larger than memory can be streamed: all tensors are declared, then their
// data follow in the same order, each in any number of pieces.
//
//	w, err := safetensors.NewWriter(file, []safetensors.Tensor{
//		{Name: "emb.ids", DType: safetensors.U64, Shape: []int{rows}},
//		{Name: "emb", DType: safetensors.F32, Shape: []int{rows, dim}},
//	}, map[string]string{"format": "gofleet"})
//	err = safetensors.Put(w, "emb.ids", ids)
//	for chunk := range chunks {
//		err = safetensors.Put(w, "emb", chunk) // []float32
//	}
//	err = w.Close() // an error if data are missing
//
// Tensors of 8-byte elements are best declared first, so that all are aligned. Reading checks the whole header before
// it allocates memory for data, and is safe on files from any source:
//
//	f, err := safetensors.OpenFrom(file)
//	defer f.Close()
//	weights, err := safetensors.Read[float32](f, "emb")
package safetensors
