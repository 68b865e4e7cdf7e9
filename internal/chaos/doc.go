// Chaos ends, stops and kills processes of real jobs, and says what became of them:
//
//	go run ./internal/chaos -runs=20
//
// A run is a job of two servers and two workers under fleetrun, which starts again what fails. Its seed says what
// happens to whom, and when: kill -9, SIGTERM, or SIGSTOP and later SIGCONT, of a server, a worker or fleetrun itself,
// or two of these at once. A fleetrun that was ended is started again with the same command, as its user
// would.
//
// A run has a mode, and a level, which is what outlives processes:
//
//	none         nothing
//	checkpoints  what was trained until the last one
//	process      what was acknowledged: servers keep a journal, and fleetrun starts one that fails again alone
//	machine      the same, on the disk before it is acknowledged
//
// Then the run is judged:
//
//   - It has ended by itself, in time: with 0 where starting roles again is enough, else with an error that names who
//     was struck.
//   - Most jobs count: their weights are whole numbers, and each push adds a life's own. At the end they say which
//     pushes of which life are in the weights, so that a push which was lost or counted twice is seen, and servers
//     which hold different moments. All lives of a worker together have each of its samples once, but for samples under
//     way when one ended.
//   - The others train wide & deep on some flights. In mode sync they come to the weights of an undisturbed job, bit
//     for bit, or of a job from the checkpoint that they went back to; elsewhere to its test
//     AUC, but for 0.003, or to a better one where they went back and trained on some rows twice.
//   - Where servers keep a journal no role goes back to a checkpoint, unless workers go in step (sync, ssp) and one of
//     them has ended or was silent for too long: then a role has said so.
//
// A line for each run says its seed, mode and level, what was done, how long after that the next update was applied,
// and the verdict; one that failed is followed by why, and by the command that plays it again. At the end it says for
// each level how many runs have failed, and the median and the longest of these times, together and by what was done.
// The exit code is 0 if none failed.
package main

// The files of this package, in reading order.
//
//	main.go    the command
//	plan.go    what happens in a run, by its seed
//	stage.go   what all runs share
//	run.go     a run, and how it must end
//	job.go     a fleetrun, what is done to it and its roles, and its end
//	signal_unix.go, signal_other.go  roles struck
//
// Jobs that count:
//
//	counter.go  a role of one
//	diary.go    what all of its roles have done
//	audit.go    that compared with the weights
//
// The others, and the end:
//
//	flights.go  wide & deep, compared with an undisturbed job
//	sheet.go    what is printed
