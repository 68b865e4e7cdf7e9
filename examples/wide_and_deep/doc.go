// Command wide_and_deep trains the recommendation model of that name on real data: will a flight out of New York arrive
// more than 15 minutes late? Alone, or as one role of a cluster:
//
//	go run ./examples/wide_and_deep
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/wide_and_deep --epochs=2 --mode=sync
//
// The first says, after a line of progress for its epoch of 261,564 flights,
//
//	epoch 1/1: train loss 0.4454, test loss 0.4160, test AUC 0.8122
//	saved output/wide_and_deep
//
// and -load=output/wide_and_deep/checkpoint goes on from there, on any number of servers. -threads=2 has two threads
// train in each worker, in modes that have room for them.
//
// -mode takes every mode that package strategy has. In geo the rule is plain gradient descent, the only one it can add
// up, which learns these data slowly: take -mode=geo with more epochs, smaller batches and a small -k_steps. With -data
// it reads Criteo TSV or slot text instead of the flights, and -preset=criteo has the size that is usual for them;
// -preset=seed takes the settings of the original's quick start.
//
// How near to one process each mode comes, with 2 and with 4 workers, TestConvergence examines, and prints as a table:
//
//	go test ./examples/wide_and_deep -run Convergence -convergence -v
//
// model.go is the network, main.go the job that every role runs, flags.go what can be chosen, data.go
// what it is fed, explain.go what a step costs.
package main
