// Package twin draws whole jobs by seed, plays each through fleet's public door and again in a slow and plain model
// of its own, and compares what users see: predictions while training, evaluations, rows, weights, what is published,
// what Stats counts. Only its own tests use it.
//
//	go test ./fleet/internal/twin -run TestJobs                      a few seeds
//	FLEET_SEEDS=200 go test ./fleet/internal/twin -run TestJobs      the first 200; 300:400 are those from 300 on
//	FLEET_SEED=7 go test ./fleet/internal/twin -run TestJobs         one
//
// A program is plain data: a model, a rule for each param, and legs. A leg is one life of a job: its servers, workers
// and strategy, the checkpoint that it begins from, and the calls that its workers make in this order, each worker
// the same. What the calls show is a list of sights, each a name and numbers. Two lists of the same names are
// compared number by number.
//
//	program.go   Program, Leg, Call: a job as data, and as text
//	draw.go      a program is drawn by seed, by what each option may be
//	drawcalls.go  the calls of its legs
//	drawshifts.go  servers between which blocks shift
//	turns.go     factors on rates that are set in an epoch
//
// Jobs whose roles die are played by package jobs.
//
// Through the door:
//
//	rules.go     rules and schedules as the door takes them
//	graph.go     the model as a graph, batches as feeds
//	loop.go      the same for package train's loop, which package jobs plays
//	play.go      legs on a simulated cluster, in virtual time
//	work.go      what a worker does in each call
//	train.go     its steps
//	publish.go   models and deltas that it saves, read back
//	places.go    where files lie: a directory, or a store
//	returns.go   servers that are killed beside calls, and come back from their journals
//	serve.go     services that score what is published
//	tap.go       the order in which requests arrive
//
// The model shares no code with what it judges, and has one float64 for each number:
//
//	update.go    the formulas of rules
//	first.go     initial values
//	net.go       forward and backward, one example at a time
//	state.go     weights, rows, clocks; what a checkpoint holds of them
//	norm.go      batch norm, whose averages each worker has of its own until all meet
//	guard.go     gradients that are not finite, and narrow ones
//	rounds.go    sync, collective and alone: k steps, a fold, a clip, an update
//	local.go     copies of workers that meet seldom
//	ordered.go   async, half_async and ssp: pushes in the order in which they arrived, weights that steps have read
//	model.go     the calls of a program
//
// What came of it:
//
//	picks.go     which versions were read
//	compare.go   how far numbers may be apart, and which are
//	signs.go     numbers so near 0 that rounding decides their sign
//	calm.go      the same training undisturbed, for its bits
//	shrink.go    the fewest calls that still fail
//	table.go     what was drawn, and how often
//
// # How far apart
//
// The twin computes a program several times: exactly, and twice or more with gradients and weights off by as much as
// float32 rounds them, by other signs each time. Where these differ much, rounding decides, and the program says little
// there; where they don't, the door may be no further away than a few times of that.
//
// Ordinary tests hold what needs no model: that no message is larger than MaxFrame (TestMaxFrame), that no two steps
// drop alike (TestNoTwoStepsDropAlike), and that what a reader sees at once is of one moment, which its number names,
// and is what the tables have (TestAPageIsOfOneMoment, TestAMomentNamesOneState and TestModes of fleet/reader).
//
// # To add an option
//
// A field of strategy.Strategy that is never drawn fails TestEveryOptionIsDrawn. Draw it, and teach the model what it
// does to numbers, if anything. TestJobs then has it beside all others.
package twin
