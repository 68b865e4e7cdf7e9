// Package modelfiles reads and writes the directory of a saved model, so that it is the model that was saved, whole, or
// refused.
//
// A directory holds graph.json and signature.json, which package nn understands; weights.safetensors; and model.json,
// which names the others with their sizes and checksums, and has its own. A dense parameter is an F32 tensor of its
// name. An embedding is an F32 tensor of its name, of shape [rows dim], and the ids of its rows are a U64 or I64 tensor
// of the name with .ids behind.
//
// A [Save] writes each file under a temporary name beside its own. model.json comes last, and until files have been
// given their names it finds them under the temporary ones: so a reader finds the old model or the new one, whatever
// the moment at which a writer dies.
//
//	s := modelfiles.Begin("model")
//	defer s.Abandon()
//	err := s.Write(modelfiles.Graph, model.WriteGraph)
//	err = s.Write(modelfiles.Weights, weights)
//	err = s.Commit()
//
// The record of a model for serving says which generation of a job saved it, and its number among these
// ([FindPublished]).
//
// A directory without model.json, as earlier versions and people's own programs write, is read as it is, and what is
// wrong with its files is seen where they can't be read. It may have any number of files *.safetensors; each dense
// parameter is in one of them, and of an embedding each may have some rows.
//
//	f, err := modelfiles.Open(ctx, "model")
//	defer f.Close()
//	w, shape, err := f.Dense("fc_0.w_0")
//	err = f.Rows("user", func(ids []uint64, w []float32) error { … })
package modelfiles
