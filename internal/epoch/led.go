package epoch

import "context"

// These are the way from package train to the leader of the job's epochs. Package fleet sets Ask and InPlaceOf, for
// train alone, so that a program sees neither. Train sets Anew, with which tests make a job as its Main does.

// Ask sends where a worker's *fleet.Fleet is in the job's epochs, and returns what it does next. Without an order it is
// to ask again. Before an evaluation the workers that measure take the mean of their statistics.
var Ask func(ctx context.Context, f any, at At) (*Told, error)

// InPlaceOf returns a *fleet.Fleet in this process that takes the place of another worker, which has died, in a job
// with servers. It is an error while that worker lives, and in modes sync and ssp.
var InPlaceOf func(f any, worker int) (any, error)

// Anew has a *train.Job know how another is made, a train.Job, as Main does: then a process can train what a lost
// worker has left.
var Anew func(job any, another func() any)
