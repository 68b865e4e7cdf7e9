// Package starter writes a training program for a file of rows: it reads the first rows, decides how a model can use
// each field, and writes a program of package fleet/train as a starting point, with a test and a README.
//
//	rows.go        the first rows of a file: CSV with the names of its fields, or JSON lines
//	field.go       the kind of a field: a number, a category, or useless
//	list.go        fields of several values in a row
//	date.go        fields derived from times
//	label.go       the kind of the label, and so the task of the model
//	categories.go  numbers that are categories too
//	crosses.go     pairs of fields that explain more of the label together than each alone
//	program.go     the program
//	days.go        a program whose rows come by the day
//	beside.go      its test and its README
//	write.go       a directory for all three
package starter
