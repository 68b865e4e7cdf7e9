// Package gradient holds what is done to gradients between a backward pass and an update, whoever keeps the weights: arithmetic on
// slices, without clock, lock or network. When it is done is for package mode to say, and where for the trainers.
//
//	rows.go      gradients of an embedding's rows, with what pushes say of shows and clicks
//	fold.go      one gradient of a round's, weighted by samples and in the order of workers, so that training on N workers equals
//	             training on the joined batch and two runs are bit-identical: dense, and by id (foldrows.go)
//	squares.go   measures a gradient of which every server has a part
//	delay.go     a gradient of weights that have moved on meanwhile
package gradient
