// Package solo trains in one process alone: package optimizer/local keeps the weights, and this package has what else a
// worker of servers has.
//
//	trainer.go    the worker's life, which waits for no other process
//	session.go    a training thread, which handles gradients that are not finite
//	tally.go      counts of gradients
//	steps.go      counts of samples, consistent with checkpoints
//	restore.go    reading checkpoints and saved models
//	save.go       writing checkpoints
//	shrink.go     the end of a period
//	serve.go      models for serving, and checkpoints that end a period
//	recovery.go   automatic checkpoints, and continuing from them
//	weights.go    the weights of a cut
//
// A worker of package replica is a solo trainer that makes its updates together with others.
package solo
