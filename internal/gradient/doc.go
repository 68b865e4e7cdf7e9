// Package gradient is what is done to gradients between a backward pass and an update, wherever the weights are:
// arithmetic on slices, without clock, lock or network. Package mode says when, and the trainers where: package session
// on the workers of servers, update on servers, replica on workers without them, solo in a process that is alone.
//
//	step.go        what a step hands over, or several together
//	rows.go        the part of it that is an embedding's, with shows and clicks
//	accumulate.go  k steps make one
//	intake.go      the door by which a step comes in
//	guard.go       what is not finite
//	clip.go        what is too long, where that is the worker's part
//	merge.go       steps that travel together
//	fold.go        a round's gradients made one: how much each counts, and variables
//	foldrows.go    rows of the same, by id
//	delay.go       a gradient of weights that have moved on meanwhile
//	squares.go     the norm of a gradient of which every server has a part
//
// # The order
//
// A gradient passes what its strategy asks for in this order, and every stage sees what the one before left:
//
//	backward ─▶ k steps ─▶ guard ─▶ clip ─▶ merge ─▶ narrow ═ network ═▶ fold ─▶ compensate ─▶ clip ─▶ rule
//	            └─────────── the worker, whose own it is ────────────┘    └── whoever makes the update ──┘
//
// It is no accident. Steps are accumulated first, so that everything after it treats them as one batch, k times as
// large. The guard comes before any memory that outlives the step: what is not finite would stay in a sum for ever, and
// only here can the error name the worker's own variable or row. Limits hold for a single gradient, so a worker clips
// before it adds gradients to others. Narrowing is last, so that what rounding takes is owed by what travels and by
// nothing else. Where gradients are folded, a clip is of their mean, which no worker has: so the folding process clips,
// after that.
//
//	               sync            async, half_async, ssp       geo              collective       alone
//	k steps        worker          worker                       –                worker           process
//	guard          worker          worker                       worker           worker           process
//	clip by norm   servers, round  worker, push                 worker, step     worker, round    process, step
//	clip by value  servers, round  servers, push; see below     worker, step     worker, round    process, step
//	merge          –               async in the queue,          –                –                –
//	                               half_async by thread
//	narrow         worker          worker                       –                –                –
//	fold           servers         –                            servers add up   every worker     –
//	compensate     –               async servers                –                –                –
//
// Where pushes are added up, as async does under an additive rule, a clip by value holds for each gradient: then
// workers clip by value too, and servers don't. A geo worker applies its own gradients, and a difference of weights
// goes on in a gradient's place.
//
// Accumulated steps wait in package accumulate, narrowing is package exchange's, since what is owed depends on what
// arrived, and a clip by norm on servers asks them all: package update scales, and package server brings the sums.
//
// # Bits
//
// Sync and collective training give the same bits each time, whatever arrives first: a fold adds in the order of
// workers, each product is rounded before it is added, and sums of squares are exact in any order. All stages are held
// to loops over maps, one after the other and each by itself: TestPoliciesTwin.
package gradient
