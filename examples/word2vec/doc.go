// Command word2vec trains vectors of words until words that stand in the same places lie near each other: skip-gram
// with negative sampling (Mikolov et al., 2013). Alone, or as one role of a cluster:
//
//	go run ./examples/word2vec
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/word2vec
//
// The text is generated, so that there is something to check the vectors by: package corpus makes up sentences of 1,838
// words, each sentence about one of 30 topics. Nothing tells the model what a topic is. After the progress of three
// epochs, and "saved output/word2vec", the first says
//
//	nearest to garden-0: garden-10, garden-54, garden-43, garden-44
//	nearest to market-2: market-54, market-27, market-39, market-3
//	nearest to wool-4: wool-43, wool-50, wool-58, wool-33
//	nearest to wool-5: wool-58, wool-26, wool-43, wool-24
//	nearest to river-7: river-56, river-21, river-5, river-26
//	1.0000 of 1800 words have a nearest word of their topic; by chance it were 0.0333
//
// The mode is geo unless -mode says another: each worker trains vectors of its own by plain gradient descent, and every
// hundred steps (-k_steps) workers exchange what has changed. Steps cost no traffic, which suits a model whose
// arithmetic is this little.
//
// With -data=FILE it reads a text of yours, a sentence a line.
//
// model.go is the network: two tables, of which a step moves the rows of its words alone. main.go is the job that every
// role runs, data.go its rows, neighbours.go looks at what it learned, vectors.go saves it as words.bin, which word2vec
// and gensim read:
//
//	gensim.models.KeyedVectors.load_word2vec_format("output/word2vec/words.bin", binary=True).most_similar("river-7")
package main
