// Package server is the parameter server: it holds one part of the weights (package table), takes pushes and answers pulls
// in wire frames, and lets a mode (package mode) decide when gradients become an update.
//
//	server.go     what a server is made of, and Run
//	handle.go     a request in, a reply out
//	push.go       a gradient: checked whole before anything, counted once, noted, applied
//	pieces.go     pushes that come in several frames
//	delay.go      delay compensation
//	pull.go       weights into a reply
//	changed.go    rows that changed since a worker asked (mode geo)
//	rounds.go     waiting for rounds
//	norms.go      how long the gradient of a round is, of which every server has a part
//	window.go     which steps of a worker were seen: exactly once
//	members.go    workers that join, live, leave and die
//	gather.go     barriers and reductions, on server 0
//	save.go       the server's part of a checkpoint
//
// One mutex guards what the mode, the members and the windows know. Tables have their own locks, so that updates and reads
// run beside each other.
package server
