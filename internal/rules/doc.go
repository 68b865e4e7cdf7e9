// Package rules is what trainers ask of an update rule: which of its powers it has, through all wrappers, and what they
// say. Rules, wrappers and their contracts are package optimizer's; a trainer (servers, ranks, a process that is alone)
// asks here, so that all ask alike.
//
//	rule := rules.For(job, param)        // of a PerParam
//	rules.ClipGradients(job, params, rows)
//	rules.InitState(rule, state)
package rules

// The files of this package:
//
//	perparam.go   a param's own rule
//	additive.go   which gradients may be added up
//	clip.go       how a step's gradients are clipped
//	rate.go       a rate that a job sets while it trains
//	powers.go     state that begins elsewhere, whole variables, randomness, momentum
//	objective.go  whether an objective can be minimised
