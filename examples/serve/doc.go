// Command serve answers requests with the scores of a saved model. It knows nothing of the model but its directory:
// feeds, outputs and the format of the rows are in there.
//
//	go run ./examples/serve -model=output/late/model               # of the program in the README
//	curl -s localhost:8080/model                                   # what it is fed and computes
//	printf 'carrier,origin,dest,distance,hour\nAA,JFK,LAX,2475,9\n' | curl -s localhost:8080/score --data-binary @-
//	curl -s localhost:8080/score -H 'Content-Type: application/json' -d '[{"numbers":[2475,9],"names":[7,9,11]}]'
//
// The first has raw lines, as training read them, with a label or without, for a model that was saved with their
// format; the second has the feeds of any model. The answer has the version of the model, and for each output a list of
// numbers for each row:
//
//	{"model":"9f86d081884c7d65","scores":{"click":[[0.31],[0.07]]}}
//
// A training job that saves into the directory again (SaveInferenceModel) has the new model served within -reload, and
// no request is dropped: a save is whole or not there, and requests that are under way end with the model that they
// began with. GET /healthz says that the server lives, and which model it has; GET /latency how long requests took
// since it began. At SIGTERM it answers what it has accepted and ends.
//
// Its memory is bounded: a request of more rows than -rows is refused, no more rows than -at_once are computed at a
// time, since each takes the memory of all of the model's layers, and 32 bodies of more than 16 kB are in memory at a
// time. Others wait, up to -deadline, and then are answered 503; requests of few rows wait for none of many.
// Connections beyond -connections are closed.
//
// With -deltas=DIR it has what SaveModel saves between two models, each delta in a directory of its own below DIR,
// within -reload too. With -join=N requests that wait are computed together, up to N rows: for models of large layers
// under many clients.
//
// What the model says of a whole file, and how right it is on rows with labels, needs no server:
//
//	go run ./examples/serve -model=output/late/model -predict=tomorrow.csv > scores.csv
//	go run ./examples/serve -model=output/late/model -eval=last_week.csv -by=carrier -importance
//
// main.go is the server and its end, apply.go looks at files, handler.go is what it answers, bounded.go its
// connections, latency.go the histogram. It is net/http, which every Go programmer has read. A model of three layers of
// 400 scores a row in about 40 µs, less than a request costs here: who serves very many puts nn.Scorer, which is all of
// the serving, behind another server, or sends several rows in a request.
package main
