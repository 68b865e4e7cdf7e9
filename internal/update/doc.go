// Package update makes one update of a server's tables from the gradients that workers pushed for it: the arithmetic of
// a push. It knows no network, and no lock but the tables' own and that of a moment between updates; package server
// says which pushes an update is made of, and when.
//
//	tables.go    a push, an update of some of them, and what is updated
//	ahead.go     the weights that momentum will have made when the worker's next gradient comes
//	portion.go   rows, in ranges of ids
//	scratch.go   the memory of an update, and its portions on several cores
//	clip.go      a clip by norm, of which each server has a part
//	update.go    the stages, one after the other
//	moment.go    between two updates, for what reads all of a table as it is then
//
// The order within an update is the same for dense weights and for rows, and each stage works on what the one before
// left:
//
//	pushes ── fold ──> one gradient ── compensate ──> as at today's weights ── clip ──> limited ── apply ──> tables
//	          in the order of workers,      dense alone, λ > 0,          mode sync,            rule by rule
//	          weighted by samples           one push                     by the norm of all
//
// An update of one push is not folded: its gradient is the worker's own memory, which is read alone. Stages that
// change values write to scratch memory instead. So a push that is repeated finds what it sent.
//
// Dense weights are applied before rows, and the portions of the rows in any order: each row is in one portion, so that
// the bits depend neither on the number of cores nor on who was first.
package update
