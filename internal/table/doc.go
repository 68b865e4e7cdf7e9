// Package table stores the parameters of a job: sparse tables, whose rows are found by id, and dense blocks. It uses
// the update rules of package optimizer, and no networks or modes; a server has a [Store] for its share of the
// variables, and optimizer/local one for all.
//
//	t, err := table.NewSparse(param, optimizer.Adagrad{LR: 0.1}, table.Options{})
//	err = t.Pull(ids, w, step)           // w: len(ids) rows; missing rows are created
//	res, err := t.Push(ids, g, step+1)   // one update of each row; res has the outcome of each id
//	t.Tick()                             // a period has ended: a day, or an epoch
//	done, err := t.Shrink(table.Shrink{Unseen: 30})
//
// # Sparse
//
// A table is divided into shards that share nothing. Each has a lock, an index (open addressing over 32 bits of a mixed
// hash of the id) and an arena: chunks of float32 that never move and hold no pointers, so that the garbage collector
// doesn't scan them. A row is contiguous:
//
//	id | last step | last seen, updates | weights | the rule's state | show, click, delta score
//	8    8           4 + 4                4·dim     4·StateLen(dim)    4 + 4 + 4, with ShowClick alone    bytes
//
// and, if rows are Numbered, ends with its number in the arena, 4 bytes. The size is rounded up to 8.
//
// Every call groups its ids by shard before it takes a lock, takes each shard's lock once, and works through the group
// in blocks: while the rule runs over one block, the rows of the next block and the index lines of the one after it are
// loaded into the cache, so that the memory's latency does not add up row by row.
//
// A table grows by a chunk of rows and by a segment of the index at a time, both small, so that no call waits while a
// whole table is copied.
//
// Guarantees: a row is read and written whole (rows are atomic, a call over several rows is not); a row is created
// once, with values that depend only on the param's seed and name and on the id; an id that is out of range, or a slice
// of the wrong length, is an error before anything is changed.
//
// # Who gets a row
//
// A param's Entry may keep ids out: until they were pushed often enough, until their shows and clicks score high
// enough, or at random. An id without a row reads as zeros (as its initial value if the embedding has a height), its
// gradients are dropped and counted in [Result], and its counts are in a small map beside the rows, at 24 bytes an id,
// and 8 more under Entry.ShowClick. That map is bounded: it drops the ids that were not pushed for the longest time.
// Only pushes count, and a server sees each push once.
//
// A param's MaxBytes bounds the table's rows, at [RowBytes] each. At the bound, ids without a row are kept out in the
// same way, and existing rows continue; explicit rows fail with [ErrFull]. A param's Evict drops the least useful rows
// at 95 % of it, until 85 % are left, and has room for all rows of a file that is loaded; [Shrink] makes room too: it
// drops rows that were not pushed for a number of ticks, or whose score has decayed. The memory of dropped rows is
// reused. The ids that a full table keeps out, and the waiting ids that it drops, depend on their order, so two runs
// that reach a bound are not bit for bit the same.
//
// [Stats] has rows, bytes and the numbers of ids that were kept out; [Sparse.Hot] the rows that are pushed most;
// [Sparse.Norms] how large rows and gradients are;
// [Sparse.Rows] and [Sparse.Waiters] all that a checkpoint needs.
//
// # What has changed
//
// A table whose rows are numbered ([Options]) can report the pushed rows: a [Watch] has a bit for each row, set by a
// push and taken by its reader; a table has one for each reader. [Old] keeps the former weights of each row that was
// pushed, so that the difference can be computed. Mode geo has watches on the servers and Old on the workers.
//
// [Store.TakeImage] is for checkpoints of the changes since the one before: every row has a bit, beside the time when
// it was last seen, which a change of the row sets, and which is taken while the image is read.
//
// # For serving
//
// [Store.Select] lists the rows of a model for serving, all that matter or only those that have changed enough, and
// [Store.Serve] marks them as served when that model is whole. Two bits of a row, beside the time when it was last
// seen, record whether such a model has the row, and with its present weights; in a table with ShowClick the row also
// has a score of its shows and clicks since. [Chain] names the models.
//
// # Dense
//
// A [Dense] is one block of a dense variable with its state, cut into chunks with a lock each.
//
// # Files, in reading order
//
// The parts of a store:
//
//	store.go     the tables and blocks of a server, or of a process alone
//	progress.go  numbers of updates, and the number up to which all are finished
//	factors.go   factors on learning rates, by update
//
// A sparse table:
//
//	sparse.go                             Pull, Push, and their errors
//	kind.go                               the layout that all rows share
//	group.go                              the ids of a call, by shard
//	hands.go                              several cores at one call
//	shard.go                              a share of the rows, and its lock
//	ops.go                                operations on a block of rows
//	prefetch_lines.go, prefetch_other.go  loading memory into the cache ahead
//	index.go                              row numbers by hash
//	arena.go                              rows by number
//	row.go                                the layout of a row in memory
//	rows.go                               all rows, for saving and serving
//	pages.go                              all rows, page by page, by their places
//	columns.go                            many rows at once
//	sorted.go                             the rows' ids in order
//
// Ids that get a row, and rows that stay:
//
//	restore.go    a param's initial rows, or rows read from a file
//	become.go     tables that are filled beside those in use, and replace them
//	entry.go      ids that need pushes or shows for a row
//	play.go       repeating the pushes and shrinks of an earlier process
//	waiting.go    the counts of ids without a row
//	waitermap.go  these by id, in little memory
//	waiters.go    all of these, for saving
//	budget.go     the bound on memory
//	evict.go      rows that make room near that bound
//	shrink.go     rows that are dropped
//	clock.go      the time that rows record
//	stats.go      sizes, and numbers of ids kept out
//	hot.go        rows that are pushed most
//	norms.go      how large rows and gradients are
//
// Changes:
//
//	rowbits.go  a bit for each row
//	watch.go    the rows that were pushed
//	old.go      their former weights
//	changes.go  the content of a checkpoint that is based on another
//	serving.go  the rows of a model for serving
//
// A dense block:
//
//	dense.go     chunks, each with its lock
//	edit.go      changing a whole block in place
//	foresee.go   predicting its weights from momentum
//	snapshot.go  copying and restoring it
//
// Images, for saving while steps continue:
//
//	image.go       a store at one moment
//	tableimage.go  a sparse table of an image
//	shardimage.go  a shard of an image: copied rows
//	denseimage.go  a dense block of an image
package table
