// Command text says which part of Go's standard library a paragraph of its documentation is from, by convolutions over
// the words (Kim, 2014). Alone, or as one role of a cluster:
//
//	go run ./examples/text
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/text
//
// The text is real (package comments): 4,646 paragraphs of ten folders, of which the largest has 22 of a hundred. A
// fifth of them is to test on.
//
// model.go is the network, net.py the same in PyTorch; BENCHMARKS.md has what both learn, and how fast.
package main
