// Package fleet trains a model on many machines with parameter servers. One program plays every role: it asks who it
// is, builds its model, wraps an ordinary optimizer, and splits once into server or worker.
//
//	f, err := fleet.Init(rolemaker.PaddleCloud{})                  // who am I? (nil: look for MPI and Slurm too)
//	net := widedeep.New(cfg)                                       // the model, built on every role
//	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, strategy.Async())
//	err = opt.Minimize(net.Loss)                                   // places the parameters, on every role
//	err = f.Restore(ctx, modelDir, fleet.RestoreOptions{})         // a checkpoint or a model to begin from, on every role; "" = none
//	if f.IsServer() {
//		err = f.InitServer(ctx, "")                                // with what Restore has read, or fresh
//		return f.RunServer(ctx)                                    // until every worker has stopped, or ctx ends
//	}
//	err = f.InitWorker(ctx)                                        // waits for servers, brings the first weights
//	exe := nn.NewExecutor(net.Graph)
//	for batch, err := range train.Batches(512) {
//		out, err := exe.Train(ctx, batch, net.Loss, net.AUC)
//	}
//	err = f.SavePersistables(ctx, dir)
//	err = f.StopWorker(ctx)
//
// With no environment set the same program trains alone, without servers and network. Started by fleetrun, by hand with
// PADDLE_* variables, by MPI or Slurm, it is one process of a cluster; package fleettest runs a whole cluster in one
// test.
//
// # Without servers
//
// A collective job has workers alone: started by "fleetrun --nproc_per_node=2", or with [rolemaker.Collective] and
// [rolemaker.UserDefinedCollective]. The program is the same without the server branch, in mode sync. Every worker
// keeps all weights; gradients are added up among the workers, rows of embeddings gathered and merged, and each makes
// the update that servers would have made, to the last bit. Worker 0's first weights are everybody's, and worker 0
// writes checkpoints, which every worker reads by Restore. What is frozen, as the statistics of batch norm, is each
// worker's own, with servers too: all begin with the checkpoint's, if there is one, take the mean of all at a
// barrier and in a gather, and what a worker saves has its own. Strategy.LocalSGD and AdaptiveLocalSGD have workers
// meet more rarely, and so does GradientMerge, which is for jobs with servers too.
//
// # When a server dies
//
// Weights are in the servers' memory. When a server ends in the middle of a job, or is started again and has nothing of
// it, every role ends within seconds with [ErrWentBack], and a program that ends by it exits with status [ExitWentBack]
// (75, "try again"):
//
//	if err := run(ctx); errors.Is(err, fleet.ErrWentBack) {
//		os.Exit(fleet.ExitWentBack)
//	}
//
// The starter of the roles starts each of them again, with Restore naming the last checkpoint. What fails for another
// reason, such as a wrong option, would fail again, and exits with another status.
//
// # Between steps
//
// Workers have [Fleet.AllReduce], [Fleet.AllGather] and [Fleet.BarrierWorker] beside training. Package fleet/metrics
// has the metrics of all workers' examples: each worker evaluates the model on its rows, with an executor of its own
// that does not train, and all get the same number.
//
// [Fleet.SetRate] sets the learning rate of a job that trains, by worker 0 for all, as [lr.ReduceOnPlateau] or a
// person says.
//
// [Fleet.Plan] prints where every variable lives, and [Fleet.Explain] what a step costs: bytes and round trips for each
// server, as expected after Minimize, and beside it what was measured.
//
// [Fleet.Rows] goes over the rows of an embedding, for whatever searches them or serves them, and [Fleet.ExportText]
// writes them as text.
// Processes outside the job read rows from its servers by package fleet/reader.
//
// [Fleet.SaveModel] saves for a service that runs while the job trains: a base each day, a delta of what has changed
// each hour, and at a day's end all that the job goes on from. Behind a checkpoint a base comes first, or
// [SaveOptions].Published shows that no delta is lost.
//
// [Fleet.Shrink] ends a period, such as a day, and drops rows of embeddings that are not used or hardly ever clicked.
// [Fleet.Stats] is what a process has counted: tables and their hottest rows, pushes, refusals, bytes; each role logs
// it when it ends.
//
// # Started again
//
// With a [strategy.Recovery] a job saves checkpoints by itself, and goes on from the newest when all of its roles are
// started again: InitServer and InitWorker find it, [Fleet.Progress] says how far the program was, as it told
// [Fleet.SetProgress], [Fleet.Checkpoint] saves one at once. Package fleet/checkpoints looks at the directory from
// outside.
//
// # Many fleets
//
// The calls of a small program are package functions too, over a default instance that [Init] makes: fleet.IsServer().
// [New] makes others, with a context and options; tests, which hold many, pass *Fleet around.
//
// # For users of PaddlePaddle's Fleet
//
// The examples of this package are the programs of Fleet's documentation. Package fleet/paddle has a table of its words
// and what stands for each here, with the few that are functions there.
//
// The package knows nothing of neural networks or files of data: whatever implements [optimizer.Objective] can be
// minimised.
package fleet

// The files of this package, in reading order.
//
// A job is made:
//
//	fleet.go      a Fleet, from New to Minimize
//	default.go    functions over a default one
//	role.go       who this process is
//	environ.go    variables whose names are nearly right
//	health.go     what probes are told
//	log.go        JSON lines, if asked for
//	kind.go       with servers, of replicas, or alone: what each takes, chosen once
//	fingerprint.go  what its processes must have in common
//	transport.go  how bytes travel
//	geo.go        what mode geo trains
//
// It runs:
//
//	calls.go    the order of calls
//	server.go   a server's life
//	worker.go   a worker's
//	close.go    its end after a failure
//	error.go    whom a failure is about
//	trainer.go  what an objective is bound to
//	session.go  the order of a training thread's calls
//	collectives.go     what workers do together between steps
//	reduce.go   sums, largest and smallest numbers of all workers
//	statistics.go  what each computes of its own batches, and all take the mean of
//
// Its weights:
//
//	restore.go   read
//	save.go      written, as a checkpoint or a model
//	savemode.go  by PaddlePaddle's numbers: for serving, what has changed since, at a day's end
//	recovery.go  checkpoints that are saved by themselves, and progress
//	position.go  how far a worker is in its data
//	rows.go      row by row
//	shrink.go    the end of a period
//	rate.go      the learning rate
//
// What is known of it:
//
//	stats.go    what it has counted
//	exposed.go  the same as metrics
//	explain.go  what a step costs
