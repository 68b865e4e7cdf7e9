// Package exchange is a worker's traffic with all its servers: it turns a training step into one request for each
// server, divided by the layout, and stores the answers.
//
//	request.go    what a step sends and wants
//	run.go        a request to all servers, and their answers
//	pieces.go     requests that are too large for one frame
//	feedback.go   narrow payloads, whose rounding errors are added to the next push
//	owed.go       rounding errors by row
//	changed.go    rows that other workers have changed, for mode geo
//	exchange.go   the state that a worker's exchanges share, and the state of one
//	lane.go       the traffic with one server
//	dense.go      dense blocks in frames
//	rows.go       rows in frames: a batch's rows, and each server's share of them
//	sequence.go   the numbers of requests, by which servers count each once
//	tally.go      outcomes of pushes
//	expect.go     the expected traffic of a step, before there is one
//
// An [Exchange] belongs to one goroutine, which reuses its memory step after step; a session has one for each request
// that it has under way at a time. All exchanges of a worker share [Servers]: the counters of requests and their
// outcomes, and Call, which repeats a request until it is answered. A frame is built once and repeated unchanged. So a
// server recognizes a repeated push by its number, and the rounding error of a narrow gradient is neither lost nor
// added twice.
package exchange
