// Package board writes files for TensorBoard: event files with scalars, histograms and a graph, and embeddings for its
// projector. A directory with such files is a run; runs below one directory are drawn together.
//
//	events.go     a file of events, and the earlier ones in its directory
//	summary.go    numbers and histograms
//	graph.go      a graph of package nn
//	projector.go  rows of embeddings, and labels of their ids
//
// Sources: TensorFlow's event.proto, summary.proto, graph.proto, and core/lib/io/record_writer.h for the frame.
package board
