// Package reader reads embeddings from the servers of a job that runs, in a process that is no part of it: rows as they
// are now, for a service that looks users up, an index of neighbours that is made anew, a look at what is learnt.
//
//	r, err := reader.Open(ctx, reader.Options{Servers: []string{"ps-0:36000", "ps-1:36000"}})
//	rows, err := r.Rows(ctx, "user", ids)                       // of these ids
//	err = r.Each(ctx, "user", func(p reader.Page) error { … })  // all there are
//
// Servers let readers in that show their FLEET_READ_TOKEN, which is not the job's token: with it nothing can be pushed,
// held up or waited for, and training makes the same bits. All readers of a server share FLEET_READ_ROWS a second
// (10,000), first come, first served; a request counts as 32 rows at least. What is more waits in the reader, which is
// told for how long. A reader that takes no answer for a second is cut off.
//
// # Of which moment
//
// Rows of one [Moment] are as they were between two updates of their server. In mode sync, an update is a round, and
// has one number on all servers; in other modes each server counts its own. The rows of a whole table, or of many ids,
// are of several moments. What is to be of one moment as a whole is a saved model, and what follows one its deltas:
// see fleet.SaveModel, and nn.Scorer's TakeDelta.
//
// A server that comes back from its journal is waited for, and goes on. A job that was started again from a checkpoint
// may have older rows than were read: every call ends with [ErrWentBack] then.
//
// # Where there is nothing to read
//
// Jobs without servers, a process alone or workers that keep copies, have no readers: they save models.
package reader

// The files of this package, in reading order.
//
//	reader.go  who reads, from which servers
//	rows.go    rows by their ids
//	pages.go   all rows of a table
//	ask.go     a request, repeated while that may help
