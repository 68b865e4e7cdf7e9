// Package train is the loop around a model. A program says what its model is, how it is updated and where its rows are; a [Job] plays
// every role with that: it trains, evaluates over all workers, saves, and goes on where it was when it is started again.
//
//	func main() {
//		o := train.Options{Epochs: 3, Out: "output"}               // what the flags -epochs and -out begin with
//		train.Main(&o, func() (train.Job, error) {
//			net := newModel()
//			return train.Job{
//				Options: o,
//				Loss:    net.loss,
//				Rule:    optimizer.Adam{LR: o.Rate(1e-3)},
//				Metrics: []*nn.Node{net.auc},
//				Outputs: []*nn.Node{net.pred},
//				Data:    load,                                     // rows to train on, rows to evaluate on
//			}, nil
//		})
//	}
//
// [Main] gives the program the flags of [Options], ends it well on ^C, and has it exit with the status that says whether starting it again
// helps. A program or a test that has a fleet already calls [Job.Run]; [Options.Register] adds the flags to a set of one's own.
//
// # What a job does
//
// Every worker trains on its share of each epoch's rows. At the epoch's end all meet, and evaluate the loss and the metrics on the test
// rows, each on its share: an [Evaluation] has the same numbers on every worker. With EvalEvery they meet in the middle of epochs too. With
// Checkpoint each epoch ends with a checkpoint, besides those that are saved in between, and a job that is started again goes on behind the
// rows that are in its checkpoint, with the history it had. At the end the worker that leads, the lowest that lives, writes below Out:
//
//	checkpoint   to go on from, with -load, on any number of servers
//	model        the outputs, for inference: nn.Load
//	history.csv  the evaluations
//
// # Hooks
//
// [Hooks] are called as a job goes on, on every worker. Those that come with the package decide by the history, so that all workers decide
// alike and a job that is started again goes on as it would have: [EarlyStopping], [BestModel] and [Plateau]; [LogSteps] and [HistoryCSV]
// write down how it goes. A hook of one's own is a function:
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
// # By hand
//
// Nothing here is more than calls that a program can make itself: those of package fleet in the order that its documentation shows, and
// TrainFrom, [Evaluate], [Predict] and [Save] between joining and leaving. In mode sync both come to the same weights, to the last bit.
package train

// The files of this package, in reading order.
//
//	job.go       what a program says, and the calls of each role
//	options.go   what its command line can choose
//	main.go      a whole program
//	run.go       a worker's part, from its first epoch to its last
//	meet.go      what workers tell each other at the end of an epoch
//	evaluate.go  nodes over rows, of all workers
//	history.go   evaluations, and what a job that is started again knows of them
//	predict.go   outputs for rows, as a file
//	save.go      what a job leaves
//	hooks.go     what is called meanwhile
//	watch.go     hooks that look at evaluations: stop, keep the best, lower the rate
//	log.go       hooks that write down
