// Chaos ends, stops and kills processes of real jobs, and judges how the jobs end:
//
//	go run ./internal/chaos -runs=20
//
// A run is a job of two servers and two workers under fleetrun, which restarts roles that fail. Its seed determines
// what is done to which process, and when: kill -9, SIGTERM, or SIGSTOP and later SIGCONT, of a server, a worker or
// fleetrun itself, or two of these at once. A fleetrun that was ended is started again with the same command, as its
// user would.
//
// A run has a mode, and a level, which determines what survives processes:
//
//	none         nothing
//	checkpoints  what was trained until the last one
//	process      what was acknowledged: servers keep a journal, and fleetrun starts one that fails again alone
//	machine      the same, on the disk before it is acknowledged
//
// Then the run is judged by these rules:
//
//   - The job has ended by itself, in time: with exit code 0 if restarting roles is enough, else with an error that
//     names a process that was struck.
//   - Most jobs count: their weights are whole numbers, and each push adds numbers of its life's own. So the final
//     weights show which pushes of which life they contain: a push that was lost or counted twice shows, and so do
//     servers whose weights are of different moments. All lives of a worker together have each of its samples once,
//     except samples under way when a life ended.
//   - The other jobs train wide & deep on some flights. In mode sync their weights are those of an undisturbed job, bit
//     for bit, or of a job from the checkpoint that they went back to. In other modes the test AUC differs by at most
//     0.003 from that of an undisturbed job, or is better if the job went back and trained on some rows twice.
//   - With journals no role goes back to a checkpoint, unless workers go in step (sync, ssp) and one of them has ended
//     or was silent for too long; then a role's log says so.
//
// Each run is a line of output: its seed, mode and level, what was done, how long after that the next update was
// applied, and the verdict. A failed run is followed by the reasons, and by the command that repeats it. The last lines
// give for each level how many runs have failed, and the median and the longest of these times, together and by what
// was done. The exit code is 0 if none failed.
package main

// The files of this package, in reading order.
//
//	main.go    the command
//	plan.go    the events of a run, drawn by its seed
//	stage.go   what all runs share
//	run.go     a run, and how it must end
//	job.go     a fleetrun, the events that strike it and its roles, and its end
//	signal_unix.go, signal_other.go  sending signals
//
// Counting jobs:
//
//	counter.go  a role
//	diary.go    what all roles have done
//	audit.go    comparing that with the weights
//
// The other jobs, and the output:
//
//	flights.go  wide & deep, compared with an undisturbed job
//	sheet.go    printing results
