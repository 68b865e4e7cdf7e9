// Package parquet reads Parquet files as a source of package dataset.
//
//	rows, err := parquet.FromFiles([]dataset.CSVColumn{
//		{Column: dataset.Floats("dense_input", 2), Fields: []string{"distance", "temp"}, Missing: "0"},
//		{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000001},
//		{Column: dataset.Varying(dataset.Ints("words"))},
//		{Column: dataset.Floats("late")},
//	}, "part-0.parquet", "part-1.parquet").Load(ctx)
//
// The schema is that of dataset's text formats: it says which of a file's columns fill a column of rows. Columns that
// it doesn't name are not read. What is hashed has the ids that lines with the same values have; floating point
// numbers, which lines write in several ways, want HashNumbers for that. All cores read what is loaded into memory
// ([Files] has Threads). It is a package of its own, so that programs that read no Parquet are no larger for it.
//
//	files.go     a list of files
//	file.go      one that is open
//	cutter.go    parts of files: row groups, or some rows of a large one
//	decoder.go   rows of parts
//	use.go       what becomes of a file's column
//	category.go  ids of text
//	derived.go   fields made of others
//	values.go    a column's values, one after the other
//	reader.go    one pass over the files
//	crew.go      the same, by several goroutines
package parquet
