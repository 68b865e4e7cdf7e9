// Command sasrec predicts the next item of a sequence by a transformer over the items before (SASRec; Kang and
// McAuley, 2018), and finds it among all. Alone, or as one role of a cluster:
//
//	go run ./examples/sasrec
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/sasrec
//
// The sequences are made up by seed (data.go), so it is known which share of the next items can be found at all: after
// each epoch the program prints the recall at ten over all items, and ends with that of who knows how they are drawn.
//
// The table of items is looked up row by row, and negatives are drawn, so that it may be as large as servers can hold.
// output/sasrec has the model, from a sequence to its state, and the vectors of all items as items.npz.
//
// model.go is the network, net.py the same in PyTorch; BENCHMARKS.md has what both learn, and how fast.
package main
