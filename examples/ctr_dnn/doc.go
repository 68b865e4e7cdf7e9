// Command ctr_dnn predicts clicks from slots of varying length: what a user clicked before, the terms of his search,
// the tags of what he is shown. The rows of a slot's ids are pooled to one, whatever their number, and a deep network
// goes on top. Alone, or as one role of a cluster:
//
//	go run ./examples/ctr_dnn
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/ctr_dnn
//
// The clicks are generated (package clicks), so it is known how well they can be foretold at all. After the progress of
// three epochs the second command says something like
//
//	epoch 3/3: train loss 0.4026, test loss 0.4250, test AUC 0.7682
//	saved output/ctr_dnn
//	no model can do better than 0.8030: that have the chances which these clicks were drawn with
//
// and alone, which is twice as many updates, it is 0.7720. With -data=FILE it trains on slot text with Criteo's slots,
// of any number of ids each; dataset/testdata/criteo_sample_80.slots.txt shows the format, too few rows to learn from.
//
// model.go is the network, data.go what it is fed and how good one can be, main.go the job that every role runs.
package main
