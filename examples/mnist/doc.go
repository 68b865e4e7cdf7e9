// Command mnist trains the multi-layer perceptron of the original's quick start on handwritten digits: 784 → 128 tanh →
// 128 tanh → 10 softmax, cross-entropy, Adam 1e-3, batch 64. Alone, with parameter servers, or as a collective job
// whose workers add their gradients up among themselves; the program is the same:
//
//	go run ./examples/mnist -epochs=10
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/mnist -epochs=10
//	go run ./fleet/fleetrun --nproc_per_node=2 ./examples/mnist -epochs=10
//
// Each epoch has its line of progress, and one of what was evaluated; the first command ends with "test accuracy
// 0.9450", taken on 2,000 digits that were held back, the others with about 0.94. With -out=DIR worker 0 saves the
// model, and -load=DIR/checkpoint goes on from there.
package main
