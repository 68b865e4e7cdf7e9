// Package metrics is what all workers of a job have measured together.
//
// Each function takes what this worker has counted since it began to count, adds up what all have, and gives every
// worker the same number, to the bit. It is a collective: every worker calls it, in the same order as its other
// collectives; see [fleet.Fleet.AllReduce].
//
//	pos, neg, err := exe.Histogram(net.AUC)              // scores of this worker's test rows, by bucket and label
//	auc, err := metrics.AUC(ctx, f, pos, neg)            // of all workers' test rows
//	abs, _, n, err := exe.Errors(net.MAE)                // sums of this worker's errors, and how many
//	mae, err := metrics.MAE(ctx, f, abs, n)
//
// Counts are whole numbers and their sums exact, so AUC, bucket error and accuracy are one process's that has
// seen all rows, however the rows were shared out. Sums of errors are added in the order of workers.
package metrics
