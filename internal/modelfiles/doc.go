// Package modelfiles reads and writes the directory of a saved model. Reading returns the complete model as it was
// saved, or an error.
//
// A directory holds graph.json and signature.json, which package nn defines; weights.safetensors; and model.json, the
// record, which names the other files with their sizes and checksums, and has a checksum of itself. A dense parameter
// is an F32 tensor of its name. An embedding is an F32 tensor of its name, of shape [rows dim], or of F16, or of I8
// with an F32 number for each row in the name followed by .scale, by which its numbers are multiplied; the ids of its
// rows are a U64 or I64 tensor of the name followed by .ids.
//
// A [Save] writes each file under a temporary name beside its own. model.json is written last, and has the temporary
// names too, under which files are found until they are renamed. So a reader finds the old model or the new one, at
// whatever moment a writer dies.
//
//	s := modelfiles.Begin("model")
//	defer s.Abandon()
//	err := s.Write(modelfiles.Graph, model.WriteGraph)
//	err = s.Write(modelfiles.Weights, weights)
//	err = s.Commit()
//
// The record of a model for serving has the generation of the job that saved it, and its number among such models
// ([FindPublished]).
//
// A directory without model.json, as other programs write, is read unchecked; errors appear only
// in files that can't be read. It may have any number of files *.safetensors. Each dense parameter must be in one of
// them; each file may have some rows of an embedding.
//
//	f, err := modelfiles.Open(ctx, "model")
//	defer f.Close()
//	w, shape, err := f.Dense("fc_0.w_0")
//	err = f.Rows("user", func(ids []uint64, w []float32) error { … })
package modelfiles
