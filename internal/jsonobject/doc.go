// Package jsonobject reads the members of JSON objects, one object after the other, in one pass over each and without
// copying it. It agrees with package encoding/json about which JSON is valid, which member a name matches, and what a
// string holds; encoding/json takes five times as long.
package jsonobject

// The files of this package, in reading order:
//
//	reader.go   objects, member by member
//	names.go    the wanted member for a name
//	value.go    values, and where they end
//	text.go     strings, and their escapes
