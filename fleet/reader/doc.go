// Package reader reads embeddings from the servers of a running job, in a process outside the job: current rows, for a
// service that looks up users, for rebuilding an index of neighbours, or for inspection.
//
//	r, err := reader.Open(ctx, reader.Options{Servers: []string{"ps-0:36000", "ps-1:36000"}})
//	rows, err := r.Rows(ctx, "user", ids)                       // rows of these ids
//	err = r.Each(ctx, "user", func(p reader.Page) error { … })  // all rows
//
// Servers accept readers that present their FLEET_READ_TOKEN, which is not the job's token: a reader can only read,
// can't delay workers, and does not change the result of training by a bit. All readers of a server share
// FLEET_READ_ROWS rows per second (10,000), first come, first served; a request counts as at least 32 rows. Further
// requests wait in the reader, which the server tells how long. A reader that does not take an answer within a second
// is disconnected.
//
// # Consistency
//
// Rows of one [Moment] are as they were between two updates of their server. In mode sync, an update is a round, and
// has one number on all servers; in other modes each server counts its own. The rows of a whole table, or of many ids,
// are of several moments. For a consistent snapshot of the whole model, use a saved model and its deltas: see
// fleet.SaveModel, and serve.Scorer's TakeDelta.
//
// Calls wait for a server that restarts from its journal. A job that was restarted from a checkpoint may have older
// rows than were read; every call then returns [ErrWentBack].
//
// # Jobs without readers
//
// Jobs without servers (a process alone, or collective workers) have no readers: save models instead.
package reader

// The files of this package, in reading order.
//
//	reader.go  readers, and the servers that they read from
//	rows.go    rows by their ids
//	pages.go   all rows of a table
//	ask.go     a request, repeated while that may help
