// Package exchange is a worker's traffic with all its servers: a training step becomes one request for each server, cut
// by the layout, and the answers are put where they belong.
//
//	request.go    what a step wants of the servers
//	run.go        a request to all servers, and their answers
//	pieces.go     what is too large for one frame
//	feedback.go   narrow payloads; what they round away is added to the next push
//	owed.go       that, by row
//	changed.go    rows that other workers have changed, for mode geo
//	exchange.go   what a worker's exchanges share, and what one has
//	lane.go       the traffic with one server
//	dense.go      dense blocks in frames
//	rows.go       rows in frames: a batch's, and every server's share of them
//	sequence.go   the numbers of requests, by which servers count each once
//	tally.go      what became of pushes
//	expect.go     what a step is expected to exchange, before there is one
//
// An [Exchange] belongs to one goroutine, which uses its memory again step after step; a session has one for each
// request that it lets travel at a time. What all exchanges of a worker share is in [Servers]: the counters of requests
// and of what became of them, and Call, which repeats a request until it is answered. A frame is built once and
// repeated as it is. So a push that a server has applied already is recognised by its number, and what rounding took
// from a narrow gradient is neither lost nor owed twice.
package exchange
