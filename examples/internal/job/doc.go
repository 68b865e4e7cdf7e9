// Package job is what the example programs have in common: how they start, the flags of a training job, the order of the calls that
// a role makes, and the loops that train and test. An example has its model and its data, and
//
//	func main() { job.Main("deepfm", parse, run) }
//
// where parse makes a configuration of the command line, and run is the program, the same for every role:
//
//	err := job.Training{Loss: loss, Rule: rule, Strategy: s}.Play(ctx, f, func(ctx context.Context) error {
//		// a worker's part: job.Epochs, job.Evaluate, job.Save
//	})
//
// Play is written out in examples/wide_and_deep, which is the one to read first.
package job
