// Package paddle has functions of PaddlePaddle's Fleet that package fleet omits, for programs ported from there. They
// act on the fleet that [fleet.Init] makes. Other calls of Fleet's programs are in package fleet under the same names;
// calls that can wait take a context, and calls that can fail return errors.
//
//	f, err := fleet.Init(rolemaker.PaddleCloud{})
//	s, err := paddle.FromASync(true, 0)                            // a_sync, k_steps
//	mine, err := paddle.Util().GetFileShard(files)
//
// # From Fleet's words to these
//
// The programs of Fleet's documentation are examples of package fleet.
//
//	init(role), init(is_collective=True)           Init(role), Init(rolemaker.Collective{}); nil looks at the environment;
//	                                               New has a context and options
//	PaddleCloudRoleMaker, UserDefinedRoleMaker,    PaddleCloud, UserDefined and MPISymmetric of package rolemaker
//	MPISymetricRoleMaker
//	distributed_optimizer(opt, strategy)           DistributedOptimizer(rule, strategy), then Minimize(loss), on every role
//	grad_clip=ClipGradByValue, ClipGradByNorm,     ClipByValue, ClipByNorm, ClipByGlobalNorm around the rule; in mode sync they clip
//	ClipGradByGlobalNorm                           the mean of all workers' gradients, there each worker clips its own: see
//	                                               "Where clips act" of package optimizer
//	ParamAttr(need_clip=False)                     Except of the clips by norm
//	DistributedStrategy, StrategyFactory,          package strategy, whose documentation has each of their options; [FromASync], [Auto]
//	DistributeTranspilerConfig
//	is_worker, worker_index, worker_num, …         IsWorker, WorkerIndex, WorkerNum, …
//	exe.run(startup_program)                       nothing: InitWorker brings the first weights
//	exe.run(main_program, feed, fetch_list)        Executor.Train(ctx, batch, fetches...) of package nn
//	loader.start(), EOFException, reset()          for batch, err := range rows.Epoch(n).Batches(size), of package dataset
//	train_from_dataset(thread=n)                   Executor.TrainFrom and TrainThreads of package nn
//	optimizer.set_lr(rate), ReduceOnPlateau        SetRate(ctx, rate), lr.ReduceOnPlateau; worker 0 sets it for all
//	init_server(dir, var_names)                    InitServer(ctx, dir, params...), or Restore, which is the same call on every role
//	run_server, init_worker, stop_worker,          RunServer, InitWorker, StopWorker, BarrierWorker
//	barrier_worker
//	save_persistables(exe, dir), mode=0            SavePersistables(ctx, dir)
//	save_inference_model(exe, dir, feeds, targets) SaveInferenceModel(ctx, dir, nn.Inference(targets...))
//	save_persistables(exe, dir, mode=1, 2, 3)      SaveModel(ctx, dir, SaveOptions{Mode: …}): 1 SaveDelta and 2 SaveBase, for serving,
//	base_threshold, delta_threshold,               3 SaveBatch, at a day's end; its options. serve.Load(base, deltas...) reads them
//	delta_keep_days
//	save_one_table(id, dir), save_dense_params     SavePersistables(ctx, dir, params...)
//	load_model(dir), load_one_table(id, dir)       LoadModel(ctx, dir, params...), by a worker while servers run; else Restore
//	                                               before it serves
//	a sparse table's text files                    Rows, and WriteText of package optimizer/weights, which has other formats
//	parameters of a Paddle model                   weights.SaveModel, of package optimizer/weights, and Restore
//	DistributedInfer                               nothing: Executor.Eval sees the servers' weights and gives missing rows no life
//	shrink                                         Shrink
//	util.all_reduce, all_gather, barrier,          [Util], or AllReduce, AllGather and BarrierWorker of a fleet; among workers, since
//	get_file_shard, print_on_rank                  servers hold nothing to add up
//	metrics.auc, acc, mae, mse, rmse, sum, …       package fleet/metrics, of what Executor.Histogram and its kin have counted
//	static.accuracy, static.auc                    nn.BatchAccuracy; nn.AUC and nn.SlidingAUC
//	fleetrun, python -m paddle.distributed.launch  fleetrun, with the same flags
package paddle
