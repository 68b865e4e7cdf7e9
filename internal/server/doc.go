// Package server is the parameter server: it holds one part of the weights (package table), takes pushes and answers pulls
// in wire frames, and lets a mode (package mode) decide when gradients become an update.
//
// The server:
//
//	server.go     what a server is made of, and Run
//	store.go      its tables
//	handle.go     a request in, a reply out
//
// A push:
//
//	push.go       checked whole before anything, counted once, noted, applied
//	pieces.go     pushes that come in several frames
//	window.go     which steps of a worker were seen: exactly once
//	rounds.go     waiting for rounds
//
// An update, whose arithmetic is package update's:
//
//	norms.go      how long the gradient of a round is, of which every server has a part
//	delay.go      which weights a worker has, for delay compensation
//	foresight.go  which answers have foreseen weights
//	rate.go       the factor on learning rates, and from which update on it counts
//
// An answer:
//
//	pull.go       weights into a reply
//	changed.go    rows that others changed since a worker asked (mode geo)
//	scan.go       all rows of a table, page by page
//
// The workers:
//
//	members.go    they join, live, leave
//	deaths.go     and die
//	gather.go     barriers and reductions, on server 0
//
// A cut through all servers, whose machine is package cut's:
//
//	save.go       the server's part of a checkpoint
//	keep.go       what is frozen: the saving worker's, for the checkpoint and for those who join later
//	shrink.go     the end of a period of the tables
//
// One mutex guards what the mode, the members and the windows know. Tables have their own locks, so that updates and reads
// run beside each other.
package server
