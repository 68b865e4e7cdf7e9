// Package rules queries the properties of an update rule, through all its wrappers. Rules, wrappers and their
// interfaces belong to package optimizer; all trainers (servers, ranks, a process that is alone) use this package, so
// that they treat rules alike.
//
//	rule := rules.For(job, param)        // of a PerParam
//	rules.ClipGradients(job, params, rows)
//	rules.InitState(rule, state)
package rules

// The files of this package:
//
//	perparam.go   a param's own rule
//	additive.go   rules whose gradients may be added up
//	clip.go       the clipping of a step's gradients
//	rate.go       a learning rate that a job changes while it trains
//	powers.go     initial state, whole variables, randomness, momentum
//	objective.go  whether an objective can be minimised
