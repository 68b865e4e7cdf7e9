// Package histogram makes numbers of scores that were counted by bucket and label. A bucket is a range of predicted
// probability; counts are whole numbers, so that many processes' add up exactly and in any order:
//
//	pos, neg := make([]int64, 4096), make([]int64, 4096)
//	pos[int(p*4095)]++                        // an example with a positive label, predicted at p
//	area := histogram.AUC(pos, neg)
//	off := histogram.BucketError(pos, neg)
package histogram
