// Package metrics is what all workers of a job have measured together.
//
// Each function takes what this worker has counted since it began to count, adds up what all have, and gives every worker the same
// number, to the bit. It is a collective: every worker calls it, in the same order as its other collectives; see [fleet.UtilBase].
//
//	h, err := exe.Histogram(net.AUC)                     // scores of this worker's test rows, by bucket and label
//	auc, err := metrics.AUC(ctx, f, h.Pos, h.Neg)        // of all workers' test rows
//	mae, err := metrics.MAE(ctx, f, absErr, rows)        // absErr: sum of |prediction − label| over this worker's rows
//
// Counts are whole numbers and their sums exact, so AUC, bucket error and accuracy are those of one process that has seen all
// rows, however the rows were shared out. Sums of errors are added in the order of workers.
package metrics
