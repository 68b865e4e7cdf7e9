// Package overlay has the rows of an embedding by id, for many goroutines to read while deltas change some of them.
//
// A [Table] has pages of rows by ascending id, and over them a layer for each delta: ids with their new rows, and ids
// whose rows are gone. The newest layer that knows an id says what its row is.
//
//	t, err := overlay.Read(dim, n, rows)          // of a model
//	next, err := t.With(n, rows, gone)            // what a delta has changed: t stays as it is
//	for next.Fold(overlay.Few) {                  // layers become pages, a piece at a time
//	}
//
// A table with a delta shares all else with the table before it, so that a delta takes its own memory. Folding changes
// how a table is kept and none of its rows: a piece is made beside the table, which then has it in place of what it was
// made of. Who reads takes either, and nobody waits.
//
//	filter.go  which ids a layer may know
//	pages.go   rows by ascending id, and such a list with another over it
//	table.go   pages and layers, read
//	read.go    a table from rows in any order
//	fold.go    layers into pages
package overlay
