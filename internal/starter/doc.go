// Package starter writes a training program for a file of rows: it looks at the first rows, decides what each field is
// to a model, and writes a program of package fleet/train to go on from, with a test and a README.
//
//	rows.go     the first rows of a file: CSV with the names of its fields, or JSON lines
//	field.go    what a field is: a number, a category, or nothing that helps
//	list.go     several values in a row
//	date.go     what is made of a time
//	label.go    what the label is, and so what the model foretells
//	crosses.go  pairs of fields that tell of the label together what neither tells alone
//	program.go  the program
//	beside.go   its test and its README
//	write.go    a directory for all three
package starter
