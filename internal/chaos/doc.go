// Chaos ends, stops and kills processes of real jobs, and says what became of them:
//
//	go run ./internal/chaos -runs=20
//
// A run is a job of two servers and two workers under fleetrun, which starts again what fails. Its seed says what happens to whom, and
// when: kill -9, SIGTERM, or SIGSTOP and later SIGCONT, of a server, a worker or fleetrun itself, or two of these at once. A fleetrun
// that was ended is started again with the same command, as whoever runs the job would. Then the run is judged:
//
//   - It has ended by itself, in time: with 0 where starting roles again is enough, else with an error that names who was struck.
//   - Most jobs count: their weights are whole numbers, and each push adds a life's own. At the end they say which pushes of which life
//     are in the weights, so that a push which was lost or counted twice is seen, and servers which hold different moments.
//   - The others train wide & deep on some flights. In mode sync they come to the weights of a job that nobody disturbs, bit for bit, or to
//     those of a job from the checkpoint that they went back to; elsewhere to its test AUC, but for 0.003, or to a better one where they
//     went back and trained on some rows twice.
//
// A line for each run says its seed, mode and level, what was done, how long after that the next update was applied, and the verdict; one
// that failed is followed by why, and by the command that plays it again. The exit code is 0 if none failed.
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
//	flights.go  wide & deep, compared with a job that nobody disturbs
//	sheet.go    what is printed
