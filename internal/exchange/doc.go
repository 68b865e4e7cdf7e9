// Package exchange is a worker's traffic with all its servers: a training step becomes one request for each server, cut by the
// layout, and the answers are put where they belong.
//
//	exchange.go   a request to all servers and their answers
//	rows.go       the rows of a batch, and every server's share of them
//	pieces.go     what is too large for one frame
//	changed.go    rows that other workers have changed, for mode geo
//	feedback.go   narrow payloads; what they round away is added to the next push
//	owed.go       that, by row
//	sequence.go   the numbers of requests, by which servers count each once
//	tally.go      what became of pushes
//	expect.go     what a step is expected to exchange, before there is one
//
// An [Exchange] belongs to one goroutine, which uses its memory again step after step; a session has one for each request that it
// lets travel at a time. What all exchanges of a worker share is in [Servers]: the counters of requests and of what became of
// them, and Call, which repeats a request until it is answered. A frame is built once and repeated as it is. So a push that a
// server has applied already is recognised by its number, and what rounding took from a narrow gradient is neither lost nor owed twice.
package exchange
