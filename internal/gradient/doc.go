// Package gradient holds what is done to gradients between a backward pass and an update, whoever keeps the weights: arithmetic on
// slices, without clock, lock or network. When it is done is for package mode to say, and where for the trainers.
//
//	step.go      what a step hands over: gradients of variables, and of embeddings' rows with what pushes say of shows and clicks (rows.go)
//	intake.go    the door by which they come: what is not finite is kept out (guard.go), and clipped where that is a worker's part (clip.go)
//	merge.go     one step of several that travel together
//	fold.go      one gradient of a round's, weighted by samples and in the order of workers, so that training on N workers equals
//	             training on the joined batch and two runs are bit-identical: dense, and by id (foldrows.go)
//	squares.go   measures a gradient of which every server has a part
//	delay.go     a gradient of weights that have moved on meanwhile
package gradient
