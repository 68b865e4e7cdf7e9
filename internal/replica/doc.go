// Package replica trains without servers: every worker keeps all weights, and all make the same update with the
// gradient of their joined batch.
//
//	t, err := replica.New(replica.Config{Params: params, Rule: rule, Strategy: s, Fingerprint: lines, Group: group})
//	err = t.Join(ctx)               // finds the others, compares what they train, takes the first weights of rank 0
//	session, err := t.Open(params)  // as of any optimizer.Trainer
//	err = t.Leave(ctx)
//
// A step begins without a message. At its end dense gradients are averaged by an all-reduce, weighted by
// Strategy.Weighting (by samples: Σ nᵢgᵢ / Σ nᵢ, the gradient of the joined batch whatever its parts' sizes); rows of
// embeddings are gathered and merged in the order of ranks; and each worker applies the rule to its own copy. The
// inputs are the same to the last bit, so that the copies stay the same. Package solo, training in one process, does
// what changes no weights, and what all workers do alike.
//
// A worker that has no more batches in an epoch (EndEpoch) takes part in the others' steps with weight 0 until all have
// ended.
//
// # What is not averaged
//
// Frozen params, such as the statistics of batch norm, are each worker's own: they come from rank 0 when training
// begins, and a checkpoint holds the values of the rank that wrote it.
//
// # Fewer messages
//
// With Strategy.LocalSGD each worker updates its own copy, and every k steps all set their copies to the mean.
//
// # Files, in reading order
//
//	trainer.go   a copy of the weights, and its group
//	life.go      loading, joining, leaving
//	meet.go      what workers do together between steps
//	open.go      which session trains, and the end of an epoch
//	session.go   a step that all make together
//	localsgd.go  separate steps, and the mean of all copies
//	progress.go  the places of all workers in their data
//	merger.go    merging the rows of all workers
//	rows.go      the encoding of a worker's rows
//	rate.go      the learning rate
package replica
