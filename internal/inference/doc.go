// Package inference writes models that can be used without a fleet, from servers' weights or a process's own:
//
//	given.go      untrained rows that a model's graph needs
//	save.go       the files of a model, from one cut
//	published.go  checking that a delta follows the newest model
//	serving.go    models for serving, and deltas of them
//
// Package nn reads these models.
package inference
