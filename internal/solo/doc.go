// Package solo trains in one process alone: package optimizer/local keeps the weights, and
// what a worker of servers has beside them is here.
//
//	trainer.go    the worker's life, which waits for no other
//	session.go    a training thread, which minds what is not finite
//	tally.go      what became of gradients
//	steps.go      what is trained on, between two checkpoints
//	restore.go    checkpoints and saved models, read
//	save.go       checkpoints written, and the end of a period
//	serve.go      models for serving, and checkpoints that end a period
//	recovery.go   checkpoints that are made by themselves, and gone on from
//	weights.go    the weights of a cut
//
// A worker of package replica is one of these that makes its updates together with others.
package solo
