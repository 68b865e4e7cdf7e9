// Package lr provides learning rate schedules. A [Schedule] is a pure function of the number of updates made so far,
// and every rule of package optimizer accepts one in place of a constant rate:
//
//	optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 0.1, Gamma: 0.9}}
//
// Servers and workers each compute the rate of an update: nothing is sent, and a restarted job continues at the right
// rate.
//
//	decays   [ExponentialDecay], [NaturalExpDecay], [InverseTimeDecay], [PolynomialDecay], [NoamDecay]
//	steps    [PiecewiseDecay], [StepDecay], [MultiStepDecay], [LambdaDecay], [MultiplicativeDecay]
//	lines    [LinearWarmup], which goes on with any other, and [LinearLR]
//	cycles   [CosineAnnealingDecay], [CosineAnnealingWarmRestarts], [OneCycleLR], [CyclicLR]
//	around   [Every], which counts epochs, or any other number of updates, in place of updates
//
// [ReduceOnPlateau] is not a Schedule: it lowers the rate depending on a measured metric.
//
// Names, formulas and defaults are those of paddle.optimizer.lr; tests compare each with the rates that PaddlePaddle
// computes. A field left at 0 means the documented default; where the documentation says so, -1 means 0.
package lr

// The files of this package, in reading order:
//
//	schedule.go  Schedule, and fields whose zero has a meaning
//	decay.go     decays and lines
//	step.go      steps
//	cycle.go     cycles
//	check.go     errors in a schedule's settings
//	plateau.go   a rate that falls when a metric stops improving
