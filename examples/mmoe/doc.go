// Command mmoe predicts two labels of a row, a click and a like, by a mixture of experts (Ma et al., 2018): networks
// that both tasks share, mixed for each by a gate of its own. Alone, or as one role of a cluster:
//
//	go run ./examples/mmoe
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/mmoe
//
// The rows are made up by seed (data.go), so it is known how well both can be foretold at all: the program ends with
// the AUCs of the chances that the labels were drawn with. model.go is the network, net.py the same in PyTorch;
// BENCHMARKS.md has what both learn, and how fast.
package main
