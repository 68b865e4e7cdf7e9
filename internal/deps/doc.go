// Package deps holds tests of the whole module and nothing else: who may import whom, that no library ends its user's
// process, that no test is switched off, that documents name tests, commands and files which exist.
//
// The table in table_test.go is the floor plan. A package imports what its row names, a package without a row imports
// nothing of the module, and third parties enter by the rooms that are made for them. Tests may also use internal/law,
// the exams (packages whose name ends in "test") and what the table of tests adds. What the tables allow, some file
// does: an arrow that the last import has left fails too.
//
// To let a package import another, write it into the table; the review of that line is the review of the design:
//
//	go test ./internal/deps
package deps
