// Command twotowers learns which items users like, and finds them: a tower of layers over a user's features, another
// over an item's, and of all items the ones whose vectors have the largest inner products with the user's. Alone, or as
// one role of a cluster:
//
//	go run ./examples/twotowers
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/twotowers
//
// The negatives of a pair are the items of the batch's other pairs. Items that many like are in more batches, and their
// scores would come out too low: the loss takes off how often each is in a batch, which is estimated while batches are
// made (Yi et al., 2019; nn.Frequencies). The test loss is of larger batches, with more negatives, and so it is larger.
//
// The pairs are made up by seed (data.go), so it is known which share of them can be found at all: after each epoch
// the program prints the recall at ten over all items, and ends with that of who knows the chances.
//
// output/twotowers has the user's tower as a model, and the vectors of all items as items.npz, for another program's
// index: numpy.load("items.npz")["items"]. In Go serve.NewIndex searches them, exactly (package retrieval of examples).
//
// model.go is both towers, net.py the same in PyTorch; BENCHMARKS.md has what both learn, and how fast.
package main
