// Command deepfm trains DeepFM (Guo et al., 2017) on real data, the flights of examples/wide_and_deep: will a flight
// out of New York arrive more than 15 minutes late? Alone, or as one role of a cluster:
//
//	go run ./examples/deepfm
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/deepfm
//
// After one epoch of 261,564 flights the first says "test AUC 0.8112", the second 0.81 too: two workers, each with half
// of the flights, push into the same weights.
//
// A factorization machine weighs every category, and every pair of categories by the inner product of their vectors; a
// deep network sees the same vectors beside it. model.go is both, main.go the job that every role runs.
package main
