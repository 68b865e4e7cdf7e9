// Package job is what a process has once its objective is minimized: where each param lives, who keeps the weights, and
// what a worker does with all others beyond its backend.
//
//	j, err := job.New(job.Config{ID: id, Params: params, Rule: rule, Strategy: s})
//	err = j.Join(ctx)           // of a worker; a server is made of j.Server
//	session, err := j.Open(params)
//
// Making it:
//
//	job.go          a Job, and what its worker does
//	kind.go         with servers, of replicas, or alone: what each takes, chosen once
//	geo.go          what mode geo trains
//	fingerprint.go  what its processes must have in common
//	transport.go    the transport, with the strategy's compression
//
// Its worker:
//
//	saver.go       checkpoints of Strategy.Recovery, while it trains and at its end
//	merged.go      one update of several steps' gradients
//	statistics.go  values that each worker computes of its own batches, and of which all take the mean
//	reduce.go      sums, largest and smallest numbers of all workers
package job
