// Package lr has learning rates over time. A [Schedule] is a pure function of the number of updates that are behind,
// and every rule of package optimizer takes it in place of a constant rate:
//
//	optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 0.1, Gamma: 0.9}}
//
// Servers and workers compute the rate of an update by themselves: nothing is sent, and a job that is started again
// goes on where it was.
//
//	decays   [ExponentialDecay], [NaturalExpDecay], [InverseTimeDecay], [PolynomialDecay], [NoamDecay]
//	steps    [PiecewiseDecay], [StepDecay], [MultiStepDecay], [LambdaDecay], [MultiplicativeDecay]
//	lines    [LinearWarmup], which goes on with any other, and [LinearLR]
//	cycles   [CosineAnnealingDecay], [CosineAnnealingWarmRestarts], [OneCycleLR], [CyclicLR]
//	around   [Every], which counts epochs, or any other number of updates, in place of updates
//
// [ReduceOnPlateau] is no Schedule: it lowers a rate by what was measured.
//
// Names, formulas and defaults are paddle.optimizer.lr's; the tests hold each to the rates that PaddlePaddle
// computes. A field left at 0 is the documented default, and -1 is 0 where the doc says so.
package lr

// The files of this package, in reading order:
//
//	schedule.go  Schedule, and fields whose zero has a meaning
//	decay.go     decays and lines
//	step.go      steps
//	cycle.go     cycles
//	check.go     what is wrong with a schedule
//	plateau.go   a rate that falls when a metric stops getting better
