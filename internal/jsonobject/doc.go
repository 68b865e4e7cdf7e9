// Package jsonobject reads the members of JSON objects, one object after the other, in one pass over each and without
// copying it. What is good JSON, which member has a name and what a text holds is as package encoding/json has it; that
// takes five times as long.
package jsonobject

// The files of this package, in reading order:
//
//	reader.go   objects, member by member
//	names.go    which member is which
//	value.go    where a value ends
//	text.go     texts, and what is escaped in them
