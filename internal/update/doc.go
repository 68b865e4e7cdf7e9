// Package update makes one update of a server's tables from the gradients that workers pushed for it: the arithmetic of
// a push. It uses no network, and no lock but the tables' own and that of a moment between updates; package server
// decides which pushes an update has, and when it is made.
//
//	tables.go    a push, an update of some of them, and the tables
//	ahead.go     the weights predicted for the worker's next gradient
//	portion.go   rows, in ranges of ids
//	scratch.go   the memory of an update, and its portions on several cores
//	clip.go      a clip by norm, of which each server has a part
//	update.go    the stages, one after the other
//	moment.go    a moment between two updates, for consistent reads of a table
//
// Dense weights and rows go through the same stages, each of which works on the result of the one before:
//
//	pushes ── fold ──> one gradient ── compensate ──> as at today's weights ── clip ──> limited ── apply ──> tables
//	          in the order of workers,      dense alone, λ > 0,          mode sync,            rule by rule
//	          weighted by samples           one push                     by the norm of all
//
// An update of one push is not folded: its gradient is the worker's own memory, which is only read. Stages that change
// values write to scratch memory instead. So a repeated push finds its values unchanged.
//
// Dense weights are applied before rows, and the portions of the rows in any order: each row is in one portion, so that
// the bits depend neither on the number of cores nor on the order of the portions.
package update
