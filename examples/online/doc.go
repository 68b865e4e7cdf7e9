// Command online trains a click model on days of a log, as they come, and publishes it while it trains:
//
//	go run ./examples/online -make=10                     ten days below logs, of 30,000 rows each
//	go run ./examples/online -last=0410                   alone, or as one role of a cluster:
//	go run ./fleet/fleetrun --server_num=2 --worker_num=2 ./examples/online
//	go run ./examples/serve -model=output/online/serving  what is published, as it comes
//
// The log is made up: items become popular and are forgotten, and users have tastes. main.go is the job, model.go the
// model and its rows, log.go the log.
//
// # For users of PaddleRec
//
// Its steps of online training, and what does each of them here:
//
//	list the days, wait for done files    Days.Dir; a day is complete with _SUCCESS in it
//	a day or an hour is missing           Wait, and then Late
//	split files among workers             by size, noted below checkpoints/days before the first step
//	load, preload the next pass           by itself, while a day is trained
//	bad lines and files                   left out up to SkipBad and BadFiles, counted and named
//	infer before training: AUC, group AUC the evaluation in the middle of a day's epoch, beside a constant's
//	train a pass                          the day's epoch, in any mode
//	save a delta each hour                Publish.Deltas, by the share of the day
//	shrink the table each day             Days.Shrink, once by the day's name
//	save an xbox base and its done file   serving/bases/NAME, then serving/current
//	save a batch model                    a checkpoint within each day's end
//	write the day's done file             serving/done/NAME.json, last
//	begin again behind the last done day  start the same command
//	train a day once more                 a directory 0405-2
package main
