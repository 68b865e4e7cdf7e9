// Package jobs draws whole jobs of package train by seed, ends each several times, starts it again with other servers,
// workers and batches, and judges what it comes to. Only its own tests use it.
//
//	go test ./fleet/internal/jobs -run TestJobs                      a few seeds
//	FLEET_SEEDS=200 go test ./fleet/internal/jobs -run TestJobs      the first 200; 300:400 are those from 300 on
//	FLEET_SEED=7 go test ./fleet/internal/jobs -run TestJobs         one
//
// A program is plain data: the model, the rules and the strategy of a program of package twin, hooks, and lives. A life
// is one start of all roles, on its own numbers of servers, workers and samples of a batch. Strikes end it: a signal to
// all roles or to one, a crash, an error of a hook, each behind a step, in an evaluation or in the hook of an epoch's
// end; or a role stands still for a while. A worker may be started again alone, or the others go on without it. The
// last life is not struck.
//
//	program.go  Program, Life, Strike: a job as data, and as text
//	draw.go     a program is drawn by seed
//	job.go      the job of a process, with its hooks
//	days.go     the same as a job of days, whose files have numbers of samples
//	play.go     lives in virtual time, and who strikes them
//	judge.go    what the job has left, and what is wrong with it
//	fewest.go   the fewest lives and strikes that still fail
//
// # What is judged
//
// The ledger has a weight for each sample, which grows by 1 whenever the sample is trained: it ends as the number of
// epochs. The history's examples are the sum of the ledger. The clock of the tables is the number of epochs, of which
// each ends one period. Hooks with a state have seen each evaluation and each epoch's end once. What was published last
// is what the job has left, though tables make room. None with a bound ever has more rows than fit. A job whose workers
// go in step has the history, the weights and the rows of a job that nothing disturbed, bit for bit.
package jobs
