// Package train provides the training loop. A program defines its model, the update rule and the source of rows; a
// [Job] then plays every role: it trains, evaluates over all workers, saves, and resumes where it was when it is
// restarted.
//
//	func main() {
//		o := train.Options{Epochs: 3, Out: "output"}               // defaults of the flags -epochs and -out
//		train.Main(&o, func() (train.Job, error) {
//			net := newModel()
//			return train.Job{
//				Options: o,
//				Loss:    net.loss,
//				Rule:    optimizer.Adam{LR: o.Rate(1e-3)},
//				Metrics: []*nn.Node{net.auc},
//				Outputs: []*nn.Node{net.pred},
//				Files:   train.Files{Format: format, Paths: []string{"flights.csv"}},
//			}, nil
//		})
//	}
//
// [Main] adds the flags of [Options] to the program, ends it cleanly on ^C, and exits with a status that says whether
// starting it again helps. Options.Role and Options.Fleet pass your own role maker, transport and placement policies to
// it. Programs and tests that already have a fleet call [Job.Run]; [Options.Register] adds the flags to your own flag
// set.
//
// # Before it trains
//
// Every program has the flag -check, and tests can call [Check]. It reads the rows, makes twenty steps in the process,
// and shows the contents of each feed, which params had a gradient, how large tables become and how far a step moves.
// It lists likely mistakes with their remedies:
//
//	go run . -check
//
// # What a job does
//
// A worker reads its rows into memory, or gets them from [Job.Data], and trains on its share of each epoch. All workers
// have the same rows, which they compare at the start, or, with [Job.Sharded], each has its own. At the end of an epoch
// all workers meet and evaluate the loss and the metrics on the test rows, each on its share; an [Evaluation] has the
// same numbers on every worker, and those of the prediction that is the same for every row, which a model has to beat:
// a job warns, with the likeliest cause, if its model does not. With EvalEvery they also evaluate in the middle of
// epochs. With Checkpoint each epoch ends with a checkpoint, in addition to the ones saved in between. A restarted job
// continues after the rows that its checkpoint contains, with its earlier history; if the seed or the rows differ from
// the checkpoint's, it warns that some rows of the epoch count twice and others not at all. At the end the leading
// worker, the lowest live one, writes below Out:
//
//	checkpoint   to resume from, with -load, on any number of servers
//	model        the outputs, for inference: serve.Load; with [EarlyStopping] or -patience the best, which best.json describes
//	history.csv  the evaluations, with the time, the rate of all workers, the learning rate and the gradients' norm
//	curves.svg   the same as a picture, with the loss of steps
//	calibration.svg  of a binary loss: predicted against observed rates on the test rows
//	run.json     the flags of the job; fleetrun compare shows several jobs beside each other
//
// The same program applies its model to other rows, in a single process:
//
//	go run . -predict=tomorrow.csv > scores.csv     outputs of the model below -out, a line for each row
//	go run . -eval=last_week.csv                    its loss, metrics, calibration and confusion matrix
//	go run . -eval=last_week.csv -by=carrier -importance     also by the values of a field, and the importance of each field
//
// Tests and other programs use Predict, Evaluate and [Examination].
//
// # Hooks
//
// [Hooks] are called during a job, on every worker. [EarlyStopping], [BestModel] and [Plateau] decide by the history,
// so that all workers make the same decision; their saved [State] lets a restarted job continue as if undisturbed.
// [LogSteps], [HistoryCSV], [HistoryJSON], [Curves] and [Calibration] report progress. Your own hook is a function:
//
//	j.Hooks = append(j.Hooks, train.Hooks{
//		Evaluated: func(ctx context.Context, r *train.Run, e train.Evaluation) error {
//			if e.Value(net.auc) > 0.8 {
//				r.Stop("it is good enough")
//			}
//			return nil
//		},
//	})
//
// # Other rules, and models for serving
//
// A checkpoint holds the state of its update rule, and a job resumes from it with that rule. To continue training with
// another rule, begin from a model, which has only weights, and use another directory for checkpoints:
// -load=output/model -checkpoint=output/adam.
//
// # Rows that come by the day
//
// [Days] trains rows as they come, each day once, and publishes a base at each day's end and deltas between, which a
// serve.Scorer of [Publish].Dir follows:
//
//	Days: &train.Days{Dir: "logs", Publish: train.Publish{Dir: "serving", Deltas: 24}}
//
// With Days.Every a day is trained in parts, as its files come, and served within minutes.
//
// Other jobs save a base and deltas in hooks, once by name, with Fleet.SaveModel: see package fleet.
//
// # For users of other libraries
//
//	Keras                                  PyTorch, Lightning              here
//	Model, compile(optimizer, loss)        nn.Module, configure_optimizers a graph of package nn; Job.Loss, Job.Rule
//	fit(x, y, epochs, batch_size)          Trainer.fit, a loop             Job.Run; Options.Epochs, Batch
//	validation_data, validation_split      val_dataloaders                 the test rows of Job.Data; Files.Test, HeldOut, LastBy …
//	metrics=["AUC"]                        torchmetrics                    Job.Metrics: nn.AUC, nn.Accuracy, nn.MAE, …
//	evaluate, predict                      Trainer.test, predict           Evaluate, Predict
//	callbacks=[…]                          callbacks=[…]                   Job.Hooks
//	EarlyStopping(patience)                EarlyStopping                   Options.Patience; EarlyStopping{Patience}.Hooks()
//	ModelCheckpoint(save_best_only)        ModelCheckpoint                 BestModel; Options.Checkpoint for what a job goes on from
//	ReduceLROnPlateau                      lr_scheduler.ReduceLROnPlateau  Plateau
//	History, CSVLogger                     CSVLogger                       Result.History, HistoryCSV
//	TensorBoard                            TensorBoardLogger               TensorBoard; -tensorboard=output/board
//	pyplot of a History                                                    Curves
//	BackupAndRestore                       ckpt_path="last"                Options.Checkpoint
//	save, load_model                       save, load_state_dict           Options.Out, Load; serve.Load, serve.OpenScorer
//	tf.distribute.ParameterServerStrategy  TorchRec, DistributedDataParallel  a job with servers; a collective one: fleetrun
//	summary()                              summary(model)                  fmt.Println(graph); fleet's Plan; -check
//	                                       num_sanity_val_steps, fast_dev_run  -check
//
// PaddleRec's runner is a Job too: its config.yaml's epochs, train_batch_size and data paths are Options and Files, its
// dygraph_model's create_loss is Job.Loss, create_metrics is Job.Metrics, print_interval the progress, model_save_path
// is Options.Out.
//
// # By hand
//
// The package uses only the public API: the calls of package fleet in the order that its documentation shows, and
// TrainFrom, [Evaluate], [Predict] and [Save] between joining and leaving. In mode sync both reach the same weights,
// bit for bit.
package train

// The files of this package, in reading order.
//
//	job.go       the definition of a job
//	roles.go     the calls of each role
//	over.go      roles that are started again after the end of their job
//	options.go   flags of the command line
//	files.go     rows in files
//	scaled.go    labels that are scaled, and scaled back
//	main.go      a whole program
//	check.go     -check: a job before it trains
//	look.go      what it would find, before a program's job trains
//	texts.go     the texts of its files, for -check
//	apply.go     -predict and -eval: a model on other rows
//	examine.go   how well a model predicts rows
//	parting.go   rows by the value of a field
//	importance.go  how much each field matters for that
//	run.go       the state of a job on a worker
//	work.go      the worker's part, from its first epoch to its last
//	ending.go    an end before the last epoch
//	course.go    what it does next, as it is told by the leader of the job's epochs
//	rest.go      training in place of a worker that has ended
//	pace.go      the rate of the job, and the size of its gradients
//	tallies.go   the encoding of measured numbers
//	evaluate.go  nodes over rows, of all workers
//	tests.go     measurements on test rows
//	constant.go  predictions that are the same for every row, which a model has to beat
//	evaluation.go  the result of one evaluation
//	history.go   how workers evaluate together
//	progress.go  the progress that a checkpoint holds
//	memory.go    state of hooks, and a history too long for a checkpoint
//	share.go     a worker's share of the rows, and whether all have the same rows
//	days.go      rows that come by the day
//	daysource.go  where the next day is looked for
//	dayparts.go  parts of a day that is not complete
//	daylist.go   which files a day has
//	dayrows.go   a worker's share of a day
//	dayahead.go  what may be the next day, read while one is trained
//	day.go       a day on a worker, and what all have found of it
//	dayslices.go  its evaluation by the values of a field
//	dayend.go    its end
//	publish.go   bases and deltas for serving
//	columns.go   whether columns are those of what it goes on from
//	lanes.go     how many steps workers need whose gradients miss each other's updates
//	order.go     whether a restarted job has the same order of rows, and where a stopped epoch ended
//	apart.go     whether batches divide groups that the loss compares
//	predict.go   outputs for rows, as a file
//	save.go      the files that a job leaves
//	linear.go    a linear model of the same rows, which a model has to beat
//	closing.go   the last lines of a job's output
//	hooks.go     functions that a job calls
//	watch.go     hooks that act on evaluations: stop, keep the best, lower the rate
//	about.go     run.json, the description of a job
//	log.go       hooks that write the history
//	curves.go    the hook that draws curves
//	calibration.go  the hook that draws predicted and observed rates
//	tensorboard.go  the hook that writes files for TensorBoard
//	curve.go     the loss of steps, in a bounded number of points
//	picture.go   lines over axes, as SVG
//	shown.go     training, on a page of this process
