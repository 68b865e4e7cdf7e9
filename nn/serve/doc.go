// Package serve loads saved models, and scores rows with them for any number of goroutines at once.
//
// A [Scorer] serves the model in a directory, from feeds, from JSON, or from raw lines in the format that the model was
// trained on and saved with ([nn.InferenceModel.WithFormat]), and can switch to a new model while it serves:
//
//	s, err := serve.OpenScorer("output/model", serve.ScorerOptions{})
//	scores, err := s.ScoreLines(ctx, []byte("1,AA,JFK\n2,UA,EWR"))
//	changed, err := s.Reload()
//
// [Load] reads a model as a graph, to evaluate it with an [nn.Executor], to train it further, or to build on it. An
// [Index] has the exact top k of an item table, and recall@k.
//
// The files of this package, in reading order:
//
//	model.go       a saved model, read
//	delta.go       the changes since it was saved
//	scorer.go      a saved model for many goroutines, and its replacement by the next
//	folder.go      a scorer's work between calls
//	workspace.go   the memory of its calls
//	join.go        calls that are computed as one batch
//	gate.go        a limit on rows that are computed at a time
//	jsonrows.go    rows as JSON
//	jsonfields.go  rows as JSON, of the fields that lines have
//	odd.go         values of which training has told little
//	index.go       exact retrieval over a table of items
package serve
