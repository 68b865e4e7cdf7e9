// Package metrics computes metrics over all workers of a job.
//
// Each function takes this worker's counts, sums the counts of all workers, and returns the same number on every
// worker, bit for bit. It is a collective: every worker must call it, in the same order as its other collectives; see
// [fleet.Fleet.AllReduce].
//
//	pos, neg, err := exe.Histogram(net.AUC)              // scores of this worker's test rows, by bucket and label
//	auc, err := metrics.AUC(ctx, f, pos, neg)            // of all workers' test rows
//	abs, _, n, err := exe.Errors(net.MAE)                // sums of this worker's errors, and how many
//	mae, err := metrics.MAE(ctx, f, abs, n)
//	scores, err := exe.Scores(net.GroupAUC)              // this worker's scores, by group
//	users, err := metrics.GroupAUC(ctx, f, scores)       // users.Weighted, users.Mean
//
// Counts are whole numbers with exact sums, so AUC, GroupAUC, bucket error and accuracy equal those of one process that
// has seen all rows, regardless of how the rows were divided. Sums of errors are added in the order of workers.
package metrics
