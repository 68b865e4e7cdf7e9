// Package histogram computes metrics of scores that were counted by bucket and label. A bucket is a range of predicted
// probability. Counts are whole numbers, so that those of many processes add up exactly, in any order:
//
//	pos, neg := make([]int64, 4096), make([]int64, 4096)
//	pos[int(p*4095)]++                        // an example with a positive label, predicted at p
//	area := histogram.AUC(pos, neg)
//	off := histogram.BucketError(pos, neg)
package histogram
