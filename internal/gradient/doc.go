// Package gradient has the stages of a gradient between a backward pass and an update: arithmetic on slices, without
// clock, lock or network. Package mode decides when a stage runs. The trainers run it: package session on workers with
// servers, update on servers, replica on workers without servers, solo in a single process.
//
//	rows.go        the gradients of an embedding's rows, with shows and clicks
//	step.go        the gradients of one step, or of several that were merged
//	guard.go       values that are not finite
//	clip.go        clipping on workers
//	intake.go      taking over the gradients of a training thread
//	foldrows.go    folding a round's gradients of rows, by id
//	fold.go        folding a round's gradients of variables, and each member's factor
//	accumulate.go  merging k steps into one
//	merge.go       merging steps that are sent together
//	delay.go       compensating a gradient whose weights have changed meanwhile
//	squares.go     the norm of a gradient that is spread over servers
//
// # The order
//
// A gradient passes the stages that its strategy asks for in this order:
//
//	backward ─▶ k steps ─▶ guard ─▶ clip ─▶ merge ─▶ narrow ═ network ═▶ fold ─▶ compensate ─▶ clip ─▶ rule
//	            └────────────── the gradient's worker ───────────────┘    └─ the process of the update ──┘
//
// The order has reasons. Steps are accumulated first, so that all later stages treat them as one batch, k times as
// large. The guard comes before any memory that outlives the step: a value that is not finite would stay in a sum for
// ever, and only here can the error name the worker's own variable or row. Limits hold for a single gradient, so a
// worker clips before it adds gradients to others. Narrowing is last, so that the rounding errors are those of the
// bytes sent. Where gradients are folded, their mean is clipped, which no worker has: the folding process clips it.
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
// If pushes are added up, as in async under an additive rule, a clip by value holds for each gradient: then workers
// clip by value, and servers don't. A geo worker applies its own gradients, and sends differences of weights in place
// of gradients.
//
// Some stages have parts in other packages. Package job holds sessions that accumulate steps. Package exchange narrows,
// since the errors to carry over depend on which pushes arrived. A clip by norm on servers needs the sums of squares of
// all servers: package server collects these, and package update scales.
//
// # Bits
//
// Sync and collective training give the same bits each time, whatever arrives first: a fold adds in the order of
// workers, each product is rounded before it is added, and sums of squares are exact in any order. TestPoliciesTwin
// compares all stages, together and each alone, with loops over maps.
package gradient
