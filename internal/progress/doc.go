// Package progress records how far a worker is in its data: which samples of its share of an epoch are in the weights,
// so that a job that is started again continues after them.
//
//	position.go  the position of one thread, as in pushes and checkpoints
//	tracker.go   the positions of a worker's threads while they train
//	steps.go     the number of steps that they have made in the job
//	deeds.go     what the job does once by name, and which epoch a worker's program has begun
//
// A worker reads its share of an epoch in an order that is the same in every run, by one thread or by several with
// shares of their own. A [Position] is a place in the share of one thread; it counts samples of its epoch, and epochs
// are the program's. A push carries the position after its last sample. Servers store, for each thread, the position up
// to which every push is in their tables (package roster); checkpoints contain it, and a worker that joins receives it.
package progress
