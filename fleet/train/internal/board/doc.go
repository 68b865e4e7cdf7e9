// Package board writes what TensorBoard shows: event files with scalars, histograms and a graph, and embeddings for its
// projector. A directory with them is a run; runs below one directory are drawn beside each other.
//
//	events.go     a file of events, and what is before it in its directory
//	summary.go    numbers and histograms
//	graph.go      a graph of package nn
//	projector.go  rows of embeddings, and what their ids mean
//
// Sources: TensorFlow's event.proto, summary.proto, graph.proto, and core/lib/io/record_writer.h for the frame.
package board
