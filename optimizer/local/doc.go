// Package local trains an objective in one process, without servers:
//
//	trainer, err := local.Minimize(loss, optimizer.Adam{LR: 1e-3})
//
// binds the objective (a loss node of package nn, or your own) to a trainer that keeps its weights in the same tables
// as a server. One session trains exactly as a fleet with one worker in sync mode does, bit for bit: the n-th End is
// update number n of every variable. Several sessions, one for each training thread, train asynchronously: each End is
// applied at once, and each Begin sees what has been applied so far.
//
// A gradient that is not finite is refused, before anything of its step is applied, and the session is over, as it is
// in a job of package fleet by default; there strategy.NotFinite can have such a gradient skipped or clipped.
package local
