// Package optimizer holds the arithmetic of training: what a parameter is, how a gradient changes it, and the small
// contracts between the model that computes gradients and the trainer that keeps weights.
//
// A [Rule] is one update formula for one slice of float32. It does not depend on servers, tables or networks, so the
// same Adam runs on a server's shard, on one embedding row and in a single process:
//
//	rule := optimizer.Adam{LR: 1e-3}
//	state := make([]float32, rule.StateLen(len(w)))
//	rule.Update(w, g, state, &optimizer.State{Step: 1})
//
// Rules are plain structs whose zero fields mean the usual defaults (where a value of 0 makes sense, write -1 for it):
// [SGD], [Momentum], [Adam], [AdamW], [Adamax], [Adagrad], [DecayedAdagrad], [Adadelta], [RMSProp], [Ftrl], [Lamb],
// [Lars] and [DPSGD], and for rows [SparseNaive], [SparseAdagrad], [StdAdagrad], [SparseAdam] and [SparseSharedAdam].
// All accept a schedule of package [lr], and a running job can change its rate ([Rated], [lr.ReduceOnPlateau]).
// Wrappers of a rule are rules too: [Decay], [ClipByValue], [ClipByNorm], [ClipByGlobalNorm], [ShowScale] for rows that
// count shows, and [PerParam] for params with a rule of their own:
//
//	rule := optimizer.ClipByGlobalNorm{Norm: 5, Rule: optimizer.Decay{L2: 1e-4, Rule: optimizer.Adam{LR: 1e-3}}}
//
// Trainers check a rule with [CheckRule] before they train.
//
// A [Param] is a dense array or an embedding: a table of rows found by id and created when first used. An [Objective]
// is the function to minimise (a loss node of package nn, or your own). It lists its params and is bound to a
// [Trainer], which provides weights before a step and takes gradients after it. The trainer may be a fleet with servers
// or package optimizer/local; the objective need not know which.
//
// # Where clips act
//
// A clip applies to the gradient of an update, so it acts where that gradient is complete: [ClipByNorm] and
// [ClipByGlobalNorm] before all updates of a step, [ClipByValue] (like [Decay] and every other wrapper with its own
// Update) within each update.
//
//	trainer                         by norm, by global norm              by value
//	package local, a fleet alone    the batch's gradient                 the same
//	mode sync                       the mean of the round, on servers    the same
//	collective                      the mean of all, on every worker     the same
//	collective with LocalSGD        the worker's own, on the worker      the same
//	mode async, half_async, ssp     a thread's own, on the worker,       the same under an additive rule whose pushes
//	                                before it is merged with others      are summed; else each push, on servers, merged
//	                                                                     gradients as one
//	mode geo                        a thread's own, on the worker        the same
//
// So with rounds, N workers train like one process on the joined batch. PaddlePaddle differs: its workers clip their
// own gradients in every mode. If two workers have gradients 3 and 0.5, clipped to 1, a rate of 0.1 moves a weight by
// 0.075 there and by 0.1 here. With gradient merge, clips act on the merged gradient, as if the batch were larger.
// Frozen params are never clipped.
//
// # Which gradients may be added up
//
// In mode async several gradients may be merged into one push (Strategy.MaxMergeVarNum). Under an additive rule they
// are summed, which equals applying them one by one. Under any other rule they are averaged, and the push is one update
// of a correspondingly larger batch:
//
//	SGD                                            the sum
//	ClipByValue, ClipByNorm, ClipByGlobalNorm      each gradient is clipped on its worker, then the sum, if it is
//	around another rule                            that of the other rule
//	Decay around SGD                               the sum of the gradients; decay counts once a push
//	PerParam                                       for each param what its own rule says
//	any other, Decay around a clip too             the mean
package optimizer

// The files of this package, in reading order.
//
// Params and trainers:
//
//	param.go        a dense array or an embedding
//	objective.go    interfaces: Objective, Trainer, Session, Step
//	initializer.go  initial values
//	assign.go       given initial values
//	rowsource.go    initial rows of an embedding
//	entry.go        which ids get a row
//	evict.go        which rows make room
//	counts.go       shows and clicks of a step's rows
//
// Rules and their properties:
//
//	rule.go      Rule and its State
//	inertia.go   momentum, as servers need it for predictions
//	rated.go     rules whose rate a job changes
//	check.go     errors in a rule or in params
//	inspect.go   checks of every part of a rule
//	nesting.go   the order of rules around rules
//	math.go      functions of one number
//
// Rules of dense params:
//
//	sgd.go                                                     gradient descent
//	sgd_loop.go, sgd_amd64.go, sgd_arm64.go, sgd_other.go      its loops
//	momentum.go                                                Momentum
//	adam.go                                                    Adam
//	adam_loop.go, adam_amd64.go, adam_arm64.go, adam_other.go  its loops, the same bits on every machine
//	adamw.go                                                   AdamW
//	adamax.go                                                  Adamax
//	adagrad.go                                                 Adagrad
//	decayedadagrad.go                                          DecayedAdagrad
//	adadelta.go                                                Adadelta
//	rmsprop.go                                                 RMSProp
//	ftrl.go                                                    Ftrl
//	lars.go                                                    Lars
//	lamb.go                                                    Lamb
//	dpsgd.go                                                   DPSGD
//
// Rules of rows:
//
//	sparserules.go  SparseNaive, SparseAdagrad, StdAdagrad
//	sparseadam.go   SparseAdam
//	sharedadam.go   SparseSharedAdam
//
// Rules around rules:
//
//	decay.go      Decay
//	clip.go       ClipByNorm, ClipByGlobalNorm, and the clipping of a step
//	clipvalue.go  ClipByValue
//	showscale.go  ShowScale
//	perparam.go   PerParam
