// Package deps holds tests of the whole module and nothing else: which package may import which, that no library ends
// its user's process, that no test is switched off, and that documents name tests, commands and files which exist.
//
// The table in table_test.go lists the permitted imports. A package imports only what its row names, a package without
// a row imports no package of the module, and each third-party module is imported only by the packages whose rows name
// it. Tests may also import internal/law, packages whose name ends in "test", and what the table of tests adds. A
// permission that no file uses fails too.
//
// To let a package import another, add it to the table; the review of that line is the review of the design:
//
//	go test ./internal/deps
package deps
