// Package fleet trains a model on many machines with parameter servers.
//
// Most programs use package fleet/train. It plays the roles, and has the loop over epochs, evaluations, checkpoints and
// flags: train.Main is given the options and a function that builds the model and its data. It uses the calls of this
// package, which are also for loops of your own.
//
// With these calls the same program plays every role: it asks for its role, builds its model, wraps an ordinary
// optimizer, and branches once into server or worker.
//
//	f, err := fleet.Init(rolemaker.PaddleCloud{})                  // the role of this process (nil: look for MPI and Slurm too)
//	net := widedeep.New(cfg)                                       // the model, built on every role
//	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, strategy.Async())
//	err = opt.Minimize(net.Loss)                                   // places the parameters, on every role
//	err = f.Restore(ctx, modelDir, fleet.RestoreOptions{})         // a checkpoint or a model to begin from, on every role; "" = none
//	if f.IsServer() {
//		err = f.InitServer(ctx, "")                                // with what Restore read, or fresh
//		return f.RunServer(ctx)                                    // until every worker has stopped, or ctx ends
//	}
//	err = f.InitWorker(ctx)                                        // waits for servers, pulls the first weights
//	exe := nn.NewExecutor(net.Graph)
//	for batch, err := range train.Batches(512) {
//		out, err := exe.Train(ctx, batch, net.Loss, net.AUC)
//	}
//	err = f.SavePersistables(ctx, dir)
//	err = f.StopWorker(ctx)
//
// With no environment variables set, the program trains alone, without servers or a network. Started by fleetrun, by
// hand with PADDLE_* variables, or by MPI or Slurm, it is one process of a cluster. Package fleettest runs a whole
// cluster inside one test.
//
// # Without servers
//
// A collective job has workers only. Start it with "fleetrun --nproc_per_node=2", or with [rolemaker.Collective] or
// [rolemaker.UserDefinedCollective]. The program is the same without the server branch, in mode sync. Every worker
// keeps all weights. Workers sum gradients among themselves, gather and merge rows of embeddings, and each makes the
// update that servers would have made, bit for bit. All workers begin with worker 0's weights. Worker 0 writes
// checkpoints, which every worker reads by Restore. Strategy.LocalSGD, AdaptiveLocalSGD and GradientMerge make workers
// communicate less often; GradientMerge also applies to jobs with servers. In every kind of job, frozen params such as
// batch norm statistics are each worker's own, and all take the mean of all workers at a barrier and in a gather. A job
// that resumes begins with each worker's own, or with those of the worker that saved if it has another number of
// workers. A worker saves its own.
//
// # When a server dies
//
// Servers keep weights in memory. When a server dies in the middle of a job, or restarts without its weights, every
// role returns [ErrWentBack] within seconds. The program should then exit with status [ExitWentBack] (75, "try again"):
//
//	if err := run(ctx); errors.Is(err, fleet.ErrWentBack) {
//		os.Exit(fleet.ExitWentBack)
//	}
//
// The launcher then starts every role again, with Restore naming the last checkpoint. Errors that would recur, such as
// a wrong option, exit with another status.
//
// # Between steps
//
// Between steps workers can call [Fleet.AllReduce], [Fleet.AllGather] and [Fleet.BarrierWorker]. Package fleet/metrics
// computes metrics over the examples of all workers: each worker evaluates the model on its own rows, with a separate
// executor that does not train, and all get the same number. Every worker makes these calls in the same order, and one
// at a time: a call is refused while another goroutine is in one.
//
// [Fleet.SetRate] changes the learning rate of a running job; worker 0 sets it for all, for example from
// [lr.ReduceOnPlateau].
//
// [Fleet.Plan] prints where every variable lives. [Fleet.Explain] prints what a step costs: the expected bytes and
// round trips for each server, known after Minimize, and the measured ones.
//
// [Fleet.Rows] iterates over the rows of an embedding, for example to build a search index, and weights.WriteText
// writes them as text. Processes outside the job read rows from its servers with package fleet/reader.
//
// [Fleet.SaveModel] publishes models to a service while the job trains: for example a base each day, a delta of the
// changes each hour, and a full checkpoint at the end of the day. A job that resumed from a checkpoint must save a base
// before its next delta, unless [SaveOptions].Published shows that no delta is lost.
//
// [Fleet.Shrink] ends a period, such as a day, and drops embedding rows that are unused or rarely clicked.
// [Fleet.Stats] returns the counters of a process: tables and their hottest rows, pushes, refusals, bytes. Each role
// logs them when it ends. "fleetrun watch :9100" shows a program that runs with FLEET_METRICS=:9100 on a web page.
//
// # Started again
//
// With a [strategy.Recovery] a job saves checkpoints automatically and resumes from the newest when all roles are
// restarted: InitServer and InitWorker find it. [Fleet.Progress] returns the progress that the program recorded with
// [Fleet.SetProgress]. [Fleet.Checkpoint] saves a checkpoint immediately. Package fleet/checkpoints inspects the
// directory from outside.
//
// # Many fleets
//
// The most common calls are also package functions, such as fleet.IsServer(), which use the default instance made by
// [Init]. [New] makes further instances, with a context and options; tests that need several pass *Fleet around.
//
// # For users of PaddlePaddle's Fleet
//
// The examples of this package are the programs of Fleet's documentation. Package fleet/paddle has a table that maps
// Fleet's names to gofleet's, and functions for the few names that have no other equivalent.
//
// The package does not depend on neural networks or data formats: it minimises any [optimizer.Objective].
package fleet

// The files of this package, in reading order.
//
// Making a job:
//
//	fleet.go      a Fleet, from New to Minimize
//	default.go    functions over a default one
//	role.go       the role of this process
//	environ.go    variables of the environment
//	led.go        epochs that package train has led
//
// Running it:
//
//	calls.go    the order of calls
//	server.go   a server's life
//	memory.go  a server that grows to the bound of its control group
//	worker.go   a worker's life
//	close.go    its end after a failure
//	error.go    errors that name the other process
//	trainer.go  the trainer of an objective
//	session.go  the order of a training thread's calls
//	collectives.go     what workers do together between steps
//
// Its weights:
//
//	restore.go   read
//	save.go      written, as a checkpoint or a model
//	savemode.go  PaddlePaddle's modes: for serving, as a delta, at a day's end
//	recovery.go  progress, and a checkpoint at once
//	position.go  the place of a worker in its data
//	rows.go      row by row
//	shrink.go    the end of a period
//	rate.go      the learning rate
//
// Its numbers:
//
//	stats.go    counters
//	exposed.go  counters as metrics, and the status
//	explain.go  the cost of a step
