// Command serve serves the scores of a saved model over HTTP. It needs only the model's directory, which contains the
// feeds, outputs and row format.
//
//	go run ./examples/serve -model=output/late/model               # of the program in the README
//	curl -s localhost:8080/model                                   # what it is fed and computes
//	printf 'carrier,origin,dest,distance,hour\nAA,JFK,LAX,2475,9\n' | curl -s localhost:8080/score --data-binary @-
//	curl -s localhost:8080/score -H 'Content-Type: application/json' -d '[{"numbers":[2475,9],"names":[7,9,11]}]'
//
// The first request has raw lines as in the training files, with or without a label, for a model that was saved with
// their format; the second has the feeds of any model, or the fields of such lines. The answer has the version of the
// model, and for each output a list of numbers for each row:
//
//	{"model":"9f86d081884c7d65","scores":{"click":[[0.31],[0.07]]},"odd":[{"row":1,"field":"carrier","why":"unseen"}]}
//
// where odd names the values of lines of which training has told the model little.
// When a training job saves into the directory again (SaveInferenceModel), the new model is served within -reload, and
// no request is dropped: saves are atomic, and requests in progress finish with the model that they began with. GET
// /healthz says that the server is alive and which model it has; GET /latency shows how long requests took since the
// server started. On SIGTERM it answers all accepted requests and exits.
//
// Its memory is bounded: a request with more rows than -rows is refused, at most -at_once rows are computed at a time,
// since each needs memory for all of the model's layers, and at most 32 bodies of more than 16 kB are in memory at a
// time. Other requests wait, up to -deadline, and are then answered with 503; requests with few rows go first.
// Connections beyond -connections are closed.
//
// With -deltas=DIR it also applies the deltas that SaveModel saves in subdirectories of DIR, within -reload. With
// -join=N waiting requests are computed together, up to N rows, for models with large layers and many clients.
//
// To predict a whole file, or to evaluate the model on rows with labels, no server is needed:
//
//	go run ./examples/serve -model=output/late/model -predict=tomorrow.csv > scores.csv
//	go run ./examples/serve -model=output/late/model -eval=last_week.csv -by=carrier -importance
//
// main.go is the server and its end, apply.go looks at files, handler.go is what it answers, bounded.go its
// connections, latency.go the histogram. It is net/http, which every Go programmer has read. A model of three layers of
// 400 scores a row in about 40 µs, less than a request costs here: who serves very many puts serve.Scorer, which is all
// of the serving, behind another server, or sends several rows in a request.
package main
