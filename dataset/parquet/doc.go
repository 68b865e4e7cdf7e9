// Package parquet reads Parquet files as a source of package dataset.
//
//	rows, err := parquet.FromFiles([]dataset.CSVColumn{
//		{Column: dataset.Floats("dense_input", 2), Fields: []string{"distance", "temp"}, Missing: "0"},
//		{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000001},
//		{Column: dataset.Varying(dataset.Ints("words"))},
//		{Column: dataset.Floats("late")},
//	}, "part-0.parquet", "part-1.parquet").Load(ctx)
//
// The schema is the same as for dataset's text formats: it maps a file's columns to columns of rows. Columns that it
// doesn't name are not read. Hashing gives the same ids as for lines with the same values; floating point numbers,
// which text can write in several ways, need HashNumbers. Loading into memory uses all cores (see Files.Threads). The
// package is separate so that programs that don't read Parquet are no larger.
//
//	files.go     a list of files
//	file.go      an open file
//	cutter.go    parts of files: row groups, or some rows of a large one
//	decoder.go   rows of parts
//	use.go       the use of a file's column
//	types.go     which types are read, and as what
//	category.go  ids of text
//	derived.go   fields computed from others
//	values.go    a column's values, one after the other
//	reader.go    one pass over the files
//	crew.go      the same, by several goroutines
package parquet
