// Package trial has the objectives and the training programs of package fleet's tests. Only tests import it.
//
// A test defines its own part: the objective, the cluster, the events meanwhile and the expected result. The order of
// calls is written here once:
//
//	fleettest.Run(t, 2, 3, trial.Counters(5, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
//		return errors.Join(c.Train(ctx, 10), f.BarrierWorker(ctx), c.Holds(ctx, 10))
//	}))
//
// which is the same as
//
//	fleettest.Run(t, 2, 3, func(ctx context.Context, f *fleet.Fleet) error {
//		c := trial.NewCounter(5)
//		return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, strategy.Sync(), func() error {
//			return errors.Join(c.Train(ctx, 10), f.BarrierWorker(ctx), c.Holds(ctx, 10))
//		})
//	})
//
// The order of calls, and the clusters that make them:
//
//	play.go       Play is a whole role, PlayGraph one that trains a graph; Minimize, Begin, Serve and Join are parts of it
//	jobs.go       Cluster, Sizes and Jobs; Rules, OtherRules and Clips; Refused, for settings that no role may accept
//
// Objectives, each an Objective with steps of its own:
//
//	objective.go  Objective, and steps in an open session: Step, Look
//	toy.go        Toy: parts of a batch add up to the batch, for comparisons of clusters with one process
//	training.go   Training: the toy's, in parts, with checkpoints and models between them
//	counter.go    Counter: weights and rows count steps, for tests of lost and repeated pushes; Counters and Count are jobs of them
//	given.go      Given: a vector with gradients given by the test, for formulas by hand
//	pulled.go     Pulled: any params under any rule, for drawn jobs and for options
//	mixed.go      Mixed: a graph with params of every kind, for loading and saving
//
// Random draws, and events during a job:
//
//	seeds.go      EachSeed draws by seeds, which FLEET_SEED repeats; a Seed simulates a cluster with its faults
//	share.go      Some and SomeOf: the number of seeds, and the cases of a table, in a run; Long, which -short leaves out
//	fewest.go     Fewest makes a program that fails as small as it can be
//	names.go      NameOf names messages, so that a seed has the same faults for them in every run
//	drawn.go      Draw draws a job: any cluster, model, rule and strategy
//	tap.go        Tap intercepts calls, Latent delays them
//	streets.go    Streets are connections between roles that can be cut, a Ghost repeats messages of a dead process
//	arrival.go    Arrival records the generation that a worker has joined
//	ledger.go     Ledger checks the weights that a process saw: for lost, doubled and mixed pushes
//	deaths.go     Cable is pulled or stands still, DieHalfway leaves a push on its way, Another takes a role over
//
// Results:
//
//	weights.go    Weights, with Tensor, Distance, Apart and Values to read and compare them; Manifest
//	log.go        Log, by lines
//
// Options, each of which must take effect wherever it is accepted:
//
//	place.go      Place: the kinds of jobs in which an option acts or is refused
//	trial.go      Trial: a small training in virtual time
//	network.go    the network of a trial
//	outcome.go    Outcome: the observable results of a trial
//	covers.go     Covers finds the field that has no case
package trial
