// Package overlay stores the rows of an embedding by id. Many goroutines may read it while deltas change some rows.
//
// A [Table] has pages of rows by ascending id, and over them a layer for each delta: ids with their new rows, and ids
// whose rows are gone. The newest layer that contains an id has its row.
//
//	t, err := overlay.Read(dim, n, rows)          // of a model
//	next, err := t.With(n, rows, gone)            // what a delta has changed: t stays as it is
//	for next.Fold(overlay.Few) {                  // layers become pages, a piece at a time
//	}
//
// A table with a delta shares all other memory with the table before it. Folding changes how a table is stored and none
// of its rows: it builds a piece beside the table, and then replaces the piece's sources by it. Readers use either
// form, and never wait.
//
//	filter.go  which ids a layer may contain
//	pages.go   pages and layers: rows by ascending id, merged
//	table.go   reading pages and layers
//	read.go    a table from rows in any order
//	fold.go    folding layers into pages
package overlay
