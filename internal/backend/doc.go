// Package backend defines the interface to the weights of a job. It has three implementations:
//
//	internal/client    servers keep them, each a part; the client is a worker's side of these
//	internal/replica   every worker keeps all of them, and the workers keep them equal
//	internal/solo      this process keeps them, and trains alone
//
// Package fleet chooses one when a job is made and uses it through [Trainer] only, so that a program behaves alike
// wherever its weights are. What only one implementation can do is an interface of its own, such as [Holder].
package backend
