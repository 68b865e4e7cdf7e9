// Package inference writes models that can be used without a fleet, from whatever keeps their weights:
//
//	save.go   the files of a model, from one cut
//	given.go  rows that nobody has trained, and that a model has in any case
//
// Package nn reads them.
package inference
