// Package progress is how far a worker is in its data: which samples of its share of an epoch are in the weights, so
// that a job which is started again goes on after them.
//
//	position.go  one thread's place, as pushes and checkpoints have it
//	tracker.go   a worker's threads, as they train
//	steps.go     how many steps they have made in the job
//
// A worker's share of an epoch is read in an order that is the same again, by one thread or by several that have shares
// of their own. A [Position] is a place in the share of one thread; it counts samples of its epoch, and epochs are
// the program's. A push carries the position behind its last sample. Servers keep, for each thread, the position
// up to which every push is in their tables (package roster); checkpoints have it, and a worker that joins is told.
package progress
