// Package strategy says how a job trains, as plain data: which mode, where parameters live, how messages are
// compressed, how long to wait. A Strategy holds names and numbers only, so it can be compared, printed, and kept in a
// file:
//
//	s := strategy.Sync()
//	s.Placement = "HashName"
//	s.Codec = "zstd"
//	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, s)
//
// or, from a file,
//
//	s, err := strategy.Load("strategy.json")
//
//	{"mode": "sync", "placement": "HashName", "codec": "zstd", "worker_timeout": "1m"}
//
// Zero fields mean documented defaults; [Strategy.WithDefaults] fills them in. Unknown fields, unknown values and
// combinations that would be ignored are errors. Every process of a job must use the same strategy: a worker with a
// different one is refused when it joins, with an error that names the field. fleet.Explain prints what a strategy
// costs in bytes and round trips.
//
// # Modes
//
//	            an update is              a worker waits for            choose it for
//	sync        a round: one gradient     all others, every step        what one process makes of the joined batch, the same to
//	            of every worker                                         the last bit each time; machines of equal speed
//	async       each push                 no other worker               most examples a second; sparse models, which bear
//	                                                                    gradients that are some updates old
//	half_async  each push, which is of    its own training threads      async, with less staleness inside a process
//	            all threads of a worker
//	ssp         each push                 workers more than             async on machines of unequal speed, with a bound on
//	                                      Staleness steps behind        how old gradients are
//	geo         none: workers train, and  no other worker               slow networks; a model that fits into each worker, and
//	            changes are added up                                    plain gradient descent
//
// In a collective job, without servers, the mode is sync. A process alone trains the same way in every mode: NotFinite,
// GradientMerge and Recovery act there, and the other fields are accepted without effect, so that the program of a
// cluster runs unchanged.
//
// # Fields
//
// Fields for every job: Codec compresses messages; NotFinite handles gradients that are not finite; HeartbeatInterval,
// WorkerTimeout, StartTimeout and WaitTimeout say how long to wait; Recovery saves checkpoints automatically, from
// which a restarted job resumes. Fields for every job with servers: Placement, NoSlice, MinBlockSize and SmallBlocks
// say where parameters live, and MaxFrame how large messages are; MaxMemory bounds embeddings, but in mode geo. The
// other fields belong to some modes. Every field is refused where it would be ignored:
//
//	                           sync  async  half_async  ssp  geo  without servers
//	Weighting                   x                                  x
//	GradientMerge               x     x      x           x         x
//	Staleness                                            x
//	LookAhead                         x
//	NoForesight                       x      x           x
//	Merge                             x      x
//	MaxMergeVarNum                    x
//	PushSamples                       x
//	SendQueueSize                     x
//	SendWaitTimes                     x
//	ThreadPoolSize                    x
//	IndependentRecvThread             x
//	MinSendGradNumBeforeRecv          x
//	DelayCompensation                 x
//	KSteps                                                    x
//	GeoRest                                                   x
//	Payload                     x     x      x           x
//	LocalSGD                                                       x
//	AdaptiveLocalSGD                                               x
//	FuseGradSizeInMB                                               x
//
// If the network is the bottleneck, Payload sends gradients in half or a quarter of the bytes; see [Payload] for the
// cost in precision. GradientMerge and, in geo, KSteps send them less often.
//
// # For users of PaddlePaddle's Fleet
//
// The presets of StrategyFactory, and a_sync with a_sync_configs of DistributedStrategy. A strategy file may contain
// the latter two unchanged, {"a_sync": true, "a_sync_configs": {"k_steps": 100}}, and FromASync of package fleet/paddle
// accepts them.
//
//	create_sync_strategy()                     a_sync=False                 Sync()
//	create_async_strategy()                    a_sync=True                  Async()
//	create_half_async_strategy()               -                            HalfAsync()
//	create_geo_strategy(update_frequency=k)    a_sync=True, k_steps=k       Geo(k)
//	-                                          auto=True                    Auto(…), of package fleet/paddle
//
// The fields of DistributeTranspilerConfig:
//
//	sync_mode, runtime_split_send_recv, half_async, geo_sgd_mode    Mode
//	geo_sgd_need_push_nums                                          KSteps
//	slice_var_up, min_block_size                                    NoSlice, with the opposite meaning, and MinBlockSize
//	split_method                                                    Placement, by name; Balanced is one more
//	enable_dc_asgd                                                  DelayCompensation: 1
//	wait_port                                                       always; StartTimeout says how long
//	mode: "collective", collective_mode: "local_sgd"                a role maker without servers; LocalSGD
//
// The keys of TrainerRuntimeConfig and a_sync_configs, which were environment variables before (FLAGS_communicator_…):
//
//	max_merge_var_num, send_queue_size, send_wait_times             fields of the same name
//	thread_pool_size, independent_recv_thread                       fields of the same name
//	min_send_grad_num_before_recv                                   field of the same name
//	is_sgd_optimizer                                                Merge; empty looks at the rule, as the original does
//	update_frequency, k_steps                                       KSteps
//	rpc_deadline, rpc_retry_times                                   WaitTimeout and WorkerTimeout: what is safe to repeat is
//	                                                                repeated until they have passed
//	merge_sparse_grad                                               always: rows are merged with the rest
//	launch_barrier                                                  always: InitWorker waits for the servers
//	lr_decay_steps                                                  a schedule of the optimizer
//
// Their defaults are this package's, not the original's: 1 for what the original sets to the number of processors.
//
// Other options of DistributedStrategy: localsgd, adaptive_localsgd and gradient_merge are fields; gradient_merge's avg
// is Sum with the opposite meaning, and fuse_grad_size_in_MB is FuseGradSizeInMB. lars, lamb and gradient clips are in
// package optimizer; they are exact with servers. In mode sync and in collective jobs a clip applies to the mean of all
// workers' gradients, not to each worker's as in the original; package optimizer has a table of where clips act in
// every mode. gofleet has no use for options for GPUs or for models split over machines (amp, recompute, dgc, sharding,
// pipeline, nccl_comm_num, …): [Read] refuses them and says why.
package strategy

// The files of this package, in reading order.
//
// The fields:
//
//	strategy.go    Strategy and its presets
//	mode.go        modes, and weighting
//	payload.go     how gradients travel
//	collective.go  LocalSGD and GradientMerge
//	recovery.go    checkpoints by themselves
//	placement.go   policies by name
//	duration.go    times as text
//
// As text, and refused:
//
//	json.go      files
//	original.go  the original's names
//	validate.go  what is wrong, or would be ignored
//	limits.go    the most that fields can be
