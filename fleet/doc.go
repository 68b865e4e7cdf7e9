// Package fleet trains a model on many machines with parameter servers. One program plays every role: it asks who it is,
// builds its model, wraps an ordinary optimizer, and splits once into server or worker.
//
//	f, err := fleet.Init(rolemaker.PaddleCloud{})                  // who am I? (nil: look for MPI and Slurm too)
//	net := widedeep.New(cfg)                                       // the model, built on every role
//	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, strategy.Async())
//	err = opt.Minimize(net.Loss)                                   // places the parameters, on every role
//	if f.IsServer() {
//		err = f.InitServer(ctx, modelDir)                          // "" = fresh
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
// PADDLE_* variables, by MPI or Slurm, it is one process of a cluster; package fleettest runs a whole cluster in one test.
//
// # Without servers
//
// A collective job has workers alone: started by "fleetrun --nproc_per_node=2", or with [rolemaker.Collective] and
// [rolemaker.UserDefinedCollective]. The program is the same, less the servers' part, in mode sync. Every worker keeps all weights;
// gradients are added up among the workers, rows of embeddings gathered and merged, and each makes the update that servers would
// have made, to the last bit. Worker 0's first weights are everybody's, and worker 0 writes checkpoints, which every worker
// reads by LoadModel. What is frozen, as the statistics of batch norm, stays each worker's own. Strategy.LocalSGD
// and AdaptiveLocalSGD have workers meet more rarely, and so does GradientMerge, which is for jobs with servers too.
//
// # Between steps
//
// [Fleet.Util] has what workers do together beside training: all-reduce, all-gather, barrier, and shares of files. Package
// fleet/metrics has the metrics of all workers' examples.
//
// [Fleet.Plan] prints where every variable lives, and [Fleet.Explain] what a step costs: bytes and round trips for each server, as
// expected after Minimize, and beside it what was measured.
//
// [Fleet.Shrink] ends a day and drops rows of embeddings that are not used or hardly ever clicked. [Fleet.Stats] is what a process has
// counted: tables and their hottest rows, pushes, refusals, bytes; each role logs it when it ends.
//
// # Many fleets
//
// Every method of [Fleet] is a package function too, over a default instance that [Init] makes: fleet.IsServer(). Programs
// with one fleet may use them; tests, which hold many, pass *Fleet around.
//
// The package knows nothing of neural networks or files of data: whatever implements [optimizer.Objective] can be minimised.
package fleet
