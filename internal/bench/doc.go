// Bench runs gofleet and its peers in turn on one machine, and prints every comparison that the project makes:
//
//	go run ./internal/bench -list                                   # the rows, and which peers are here
//	go run ./internal/bench -n 5 -torch T/bin/python -paddle P/bin/python -pslite DIR -json new.json -svg new.svg
//	go run ./internal/bench -pages new.json                         # the tables of BENCHMARKS.md and README.md
//
// A row is one piece of work with several sides: gofleet, and peers that do the same. A round goes over all sides of a
// row, so that they take turns: gofleet, peer, gofleet, peer. A side is a process, or all processes of a job, that
// prints what it measured, its figures. A comparison divides two sides' figures of the same round, so that both met the
// same minute of the machine; it prints the median over rounds of each side and of the quotient, with the least and the
// most. AUCs are subtracted, and a round's number is the seed. A comparison may have a goal, with AVX-512 another.
//
// # Rows
//
//	local/*     wide & deep (26 ids of 1,000,001 × 9, 512-256-128-32, Adam, batch 512) in one process, beside PyTorch,
//	            PaddlePaddle and the bound: 1 core, 2 cores, two Hogwild threads
//	2x2         the same with 2 servers and 2 workers in each mode, beside own Hogwild and PaddlePaddle
//	learn       its AUC with 8 and 16 asynchronous workers, beside one process
//	cpu         its processor seconds with 8 workers, beside those with 1
//	seed        the original's quick start, batches of 10, with 2 servers and 2 workers, beside PaddlePaddle
//	mnist       a perceptron with its updates, beside PyTorch
//	layers/*, twin/*   nets forward and backward, and the training of examples, beside PyTorch
//	sparse/*, crowd, tiny, dense   rows and vectors between processes, beside ps-lite and naive Go
//	bare/*      requests in one process, beside bare fasthttp
//	sum/*       all-reduce of 2 ranks, beside gloo
//	product/*   products of the net's matrices, beside MKL and OpenBLAS
//	memory      bytes of a row, beside a map's
//	start/*     README's first command, with a warm and with an empty build cache
//	converge    what each mode learns beside one process, as examples/wide_and_deep's own test prints it, also with a
//	            slow worker or thread
//	trees       programs of fleetrun new beside LightGBM, as .ci/outside trees prints it
//
// # Peers
//
//	PyTorch        -torch, a Python that imports it (else python3): training, products by MKL, all-reduce by gloo
//	OpenBLAS       the same Python's numpy: products
//	PaddlePaddle   -paddle, a Python that imports it (else python3): training, alone and with servers
//	ps-lite        -pslite, its source tree, and protoc and g++ on PATH: rows in a flat vector, or a hash map
//	the bound      cc on PATH: how fast registers alone multiply and add
//	bare fasthttp  here: client and server with nothing around them, moving the same bytes
//	naive Go       here: a map and a mutex behind the same transport
//
// What is known to work, each Python in an environment of its own:
//
//	pip install torch==2.6.0 'numpy<2'
//	pip install paddlepaddle==2.6.2 'numpy<2' setuptools protobuf==3.20.3
//	apt-get install g++ libzmq3-dev libprotobuf-dev protobuf-compiler      # for ps-lite at 15b8adf
//
// A peer that is not here leaves its comparisons "not measured here", with open goals. Peers' programs are in testdata,
// those in Go are benchmarks of fleet and internal/client. Each ends with an error unless its updates have arrived:
// rows have what all pushes together make of them, sums are those of all ranks, the loss falls, or at least
// (PaddlePaddle's jobs) dense weights come back changed. A side with an error has no figures; the command exits with 1.
//
// # The machine
//
// The command prints the processor, its vector units, cores, system, Go and commit. It reads how much of the cores
// other programs use, for a second before the first row, and again during each row: all time that was not idle, less
// that of the sides' own processes. Beyond 5 % it prints figures and quotients, but "no verdict" on goals; the same
// where a system does not show this, and of less than three rounds.
//
// # Formats
//
// Text is tables as in Markdown, with a line for each comparison. JSON (-json) has the machine, and for each row the
// share of others, the sides with the figures of all rounds, their processor seconds and peak memory, and the
// comparisons. It is written after each row; a later run of the same commit and rounds adds its rows, or replaces them,
// so that a row which others have disturbed is run again alone (-rows). SVG (-svg) shows each quotient as a bar on a
// logarithmic axis, with its spread and goal. Between
//
//	<!-- bench TABLE -->
//	<!-- end -->
//
// BENCHMARKS.md and README.md have a table's rows as -pages writes them from a JSON file, which it keeps as
// testdata/results.json, beside the picture; without figures of rows that others have disturbed. TestPages fails where
// a page has anything else there.
package main

// The files of this package, in reading order.
//
//	main.go      the command
//	row.go       rows, sides, comparisons and their verdicts
//	rows.go      what is compared
//	run.go       rounds of a row
//	machine.go   the machine, and what others use of it
//	spread.go    medians
//	print.go     tables, for text and pages
//	picture.go   bars
//
// What sides run:
//
//	sides.go     the work of each side
//	lab.go       programs, built and started
//	peers.go     whether peers are here
//	parse.go     what programs print
//	clicks.go    rows to train on
//	peak_unix.go, peak_other.go  the memory of a process
