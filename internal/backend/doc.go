// Package backend is the face of whatever keeps the weights of a job. There are three kinds:
//
//	internal/client    servers keep them, each a part; the client is a worker's side of these
//	internal/replica   every worker keeps all of them, and the workers keep them equal
//	internal/solo      this process keeps them, and trains alone
//
// Package fleet chooses one when a job is made and knows no more of it than [Trainer] says, so that a program behaves
// alike wherever its weights are. What one kind alone can do is an interface of its own, which the others do not have:
// [Holder].
package backend
