// Package table keeps the parameters of a job: sparse tables of rows found by id, and dense blocks beside them. It
// knows the update rules of package optimizer and nothing of networks or modes; a server holds a [Store] of them for
// its share of the variables, and optimizer/local one for all.
//
//	t, err := table.NewSparse(param, optimizer.Adagrad{LR: 0.1}, table.Options{})
//	err = t.Pull(ids, w, step)           // w: len(ids) rows; missing rows are born
//	res, err := t.Push(ids, g, step+1)   // one update of each row; res says what became of each id
//	t.Tick()                             // a period has ended: a day, or an epoch
//	done, err := t.Shrink(table.Shrink{Unseen: 30})
//
// # Sparse
//
// A table is cut into shards that share nothing. Each has a lock, an index (open addressing over 32 bits of a mixed
// hash of the id) and an arena: chunks of float32 that never move and hold no pointers, so that the garbage collector
// doesn't look into them. A row lies in one piece:
//
//	id | last step | last seen, updates | weights | the rule's state | show, click, delta score
//	8    8           4 + 4                4·dim     4·StateLen(dim)    4 + 4 + 4, with ShowClick alone    bytes
//
// and ends with its number in the arena, 4 bytes, where rows are Numbered. All is rounded up to 8.
//
// Every call groups its ids by shard before it takes a lock, takes each shard's lock once, and works through the group
// in blocks: while the rule runs over one block, the rows of the next and the index lines of the one after it are on
// their way into the cache, so that the memory's latency is not paid row by row.
//
// A table grows by a chunk of rows and by a segment of the index at a time, both small, so that no call waits for a
// table to be made anew.
//
// Promises: a row is read and written whole (rows are atomic, a call over several rows is not); a row is born once,
// with values that depend on the param's seed and name and on the id alone; an id that is out of range or a slice of
// the wrong length is refused before anything is changed.
//
// # Who gets a row
//
// A param's Entry may keep ids out: until they were pushed often enough, until their shows and clicks rate high enough,
// or by lot. An id without a row reads as zeros (as its initial value if the embedding has a height), its gradients are
// dropped and counted in [Result], and what is known of it waits in a small map beside the rows. That map is bounded:
// it forgets the ids that were not pushed for longest. Only pushes count, and a server sees each push once.
//
// A param's MaxBytes bounds the table. When it is reached, ids without a row are turned away in the same manner, and
// rows that exist go on; explicit rows are refused with [ErrFull]. [Shrink] makes room: it drops rows that were not
// touched for a number of ticks, or whose score has decayed. Dropped rows' memory is used again. Which ids a full table
// turns away and which waiting ids it forgets depends on where they fall, so two runs that come to that are not bit for
// bit the same.
//
// [Stats] has rows, bytes and what was turned away; [Sparse.Hot] the rows that are pushed most; [Sparse.Rows] and
// [Sparse.Waiters] all that a checkpoint needs.
//
// # What has changed
//
// A table whose rows are numbered ([Options]) can say which rows were pushed: a [Watch] has a bit for each row, set by
// a push and taken by its reader; a table has one for each reader. [Old] keeps, of each row that
// was pushed, what it was before, so that the difference can be told. Mode geo has watches on the servers and Old on
// the workers.
//
// For checkpoints of what has changed since the one before there is [Store.TakeImage]: every row has a bit of its own,
// beside the time when it was seen, which a change of the row writes with it, and which is taken while the image
// is read.
//
// # For serving
//
// [Store.Select] lists the rows that a model for serving takes, all that matter or only what has changed enough, and
// [Store.Serve] has them count as served when that model is whole. A row knows by two bits beside the time when it was
// seen whether such a model has it, and has it as it is; in a table with ShowClick it also has a score of what was
// shown and clicked since. [Chain] names the models.
//
// # Dense
//
// A [Dense] is one block of a dense variable with its state, cut into chunks with a lock each.
//
// # Files, in reading order
//
// What a store is made of:
//
//	store.go     the tables and blocks of a server, or of a process alone
//	progress.go  numbers of updates, and up to which all are finished
//	factors.go   factors on learning rates, by update
//
// A sparse table:
//
//	sparse.go                             Pull, Push, and what they refuse
//	kind.go                               what all rows have in common
//	group.go                              the ids of a call, by shard
//	shard.go                              a share of the rows, and its lock
//	ops.go                                what is done to a block of rows
//	prefetch_amd64.go, prefetch_other.go  memory asked for before it is needed
//	index.go                              row numbers by hash
//	arena.go                              rows by number
//	row.go                                how a row lies in memory
//	rows.go                               all rows, for who saves or serves them
//	pages.go                              all of them, some at a time, by their places
//	columns.go                            many of them at once
//	sorted.go                             their ids in order
//
// Who gets a row, and who keeps it:
//
//	restore.go  rows that a param begins with, or that were read from a file
//	become.go   tables that are filled beside the ones in use, and take their place
//	entry.go    ids that must earn one
//	play.go     pushes and shrinks of a process before this one, made again
//	waiting.go  what is known of them
//	waiters.go  all of them, for who saves them
//	budget.go   how many fit
//	shrink.go   rows that are dropped
//	clock.go    the time that rows remember
//	stats.go    sizes, and what was turned away
//	hot.go      rows that are pushed most
//
// What has changed:
//
//	rowbits.go  a bit for each row
//	watch.go    which rows were pushed
//	old.go      what they were before
//	changes.go  what a checkpoint needs that is based on another
//	serving.go  what a model for serving takes
//
// A dense block:
//
//	dense.go     chunks, each with its lock
//	edit.go      all of it, changed in place
//	foresee.go   what it will be when momentum has gone on
//	snapshot.go  copied, and put back
//
// What is saved while steps go on:
//
//	image.go       a store as it was at one moment
//	tableimage.go  a sparse table in it
//	shardimage.go  a shard of it: rows that were copied
//	denseimage.go  a dense block in it
package table
