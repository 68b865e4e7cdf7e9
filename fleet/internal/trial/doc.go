// Package trial is what tests of package fleet train, and how they train it. Only tests import it.
//
// A test says what is its own: which objective, which cluster, what happens meanwhile and what must come of it. The
// order of calls is written here once:
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
//	jobs.go       Cluster, Sizes and Jobs; Rules, OtherRules and Clips; Refused, for what no role may accept
//
// Objectives, each an Objective with steps of its own:
//
//	objective.go  Objective, and steps in a session in hand: Step, Look
//	toy.go        Toy: parts of a batch add up to the batch, for all that compares clusters with one process
//	training.go   Training: the toy's, in parts, with checkpoints and models between them
//	counter.go    Counter: weights and rows count steps, for what may be lost or come twice; Counters and Count are jobs of them
//	given.go      Given: a vector whose gradients the test gives, for formulas by hand
//	pulled.go     Pulled: any params under any rule, for drawn jobs and for options
//	mixed.go      Mixed: a graph with params of every kind, for loading and saving
//
// What is drawn, and what happens meanwhile:
//
//	seeds.go      EachSeed draws what FLEET_SEED repeats; a Seed simulates a cluster with its faults
//	share.go      Some and SomeOf: how many seeds, and which cases of a table, a run plays; Long, which -short leaves out
//	names.go      NameOf names messages, so that a seed has the same faults for them in every run
//	drawn.go      Draw draws a job: any cluster, model, rule and strategy
//	tap.go        Tap listens to a network, Latent makes it slow
//	streets.go    Streets are ways between roles that are cut, a Ghost sends what the dead had sent
//	arrival.go    Arrival knows which generation a worker has joined
//	ledger.go     Ledger says what is wrong with weights that somebody saw: what is lost, doubled, mixed
//	deaths.go     Cable is pulled, DieHalfway leaves a push on its way, Another takes a role over
//
// What came of it:
//
//	weights.go    Weights, with Tensor, Distance, Apart and Values to read and compare them; Manifest
//	log.go        Log, by lines
//
// Options, each of which must act where it is taken:
//
//	place.go      Place: the kinds of jobs in which an option acts or is refused
//	trial.go      Trial: a small training in virtual time
//	network.go    the network of a trial
//	outcome.go    Outcome: what can be seen of a trial
//	covers.go     Covers finds the field that has no case
package trial
