// Command din predicts clicks from what a user clicked before, by a deep interest network (Zhou et al., 2018): a unit
// weighs each item of the history by the item that is shown. Alone, or as one role of a cluster:
//
//	go run ./examples/din
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/din
//
// The clicks are made up by seed (data.go), so it is known how well they can be foretold at all: the program ends with
// the AUC of the chances that the clicks were drawn with. model.go is the network, net.py the same in PyTorch;
// BENCHMARKS.md has what both learn, and how fast. From the same first weights and on the same rows they have the same
// weights, to 1e-4 after 100 steps, where all rows of the table move in each step, as PyTorch's Adam does with a dense
// table. As in PyTorch's SparseAdam, only the rows of a batch move here otherwise.
package main
