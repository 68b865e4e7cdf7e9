// Package inference writes models that can be used without a fleet, from whatever keeps their weights:
//
//	save.go       the files of a model, from one cut
//	given.go      untrained rows that a model has in any case
//	serving.go    the rows that serving needs, or what has changed of them
//	published.go  whether a delta follows the newest of what was saved before
//
// Package nn reads them.
package inference
