// Package table keeps the parameters of a job: sparse tables of rows found by id, and dense blocks beside them. It knows the
// update rules of package optimizer and nothing of networks or modes; a server holds a [Store] of them for its share of the
// variables, and optimizer/local one for all.
//
//	t, err := table.NewSparse(param, optimizer.Adagrad{LR: 0.1}, table.Options{})
//	err = t.Pull(ids, w, step)           // w: len(ids) rows; missing rows are born
//	res, err := t.Push(ids, g, step+1)   // one update of each row
//
// # Sparse
//
// A table is cut into shards that share nothing. Each has a lock, an index (open addressing over 32 bits of a mixed hash of
// the id) and an arena: chunks of float32 that never move and hold no pointers, so that the garbage collector doesn't look
// into them. A row lies in one piece:
//
//	id | last step | last seen, updates | weights | the rule's state
//	8    8           4 + 4                4·dim     4·StateLen(dim)      bytes
//
// Every call groups its ids by shard before it takes a lock, takes each shard's lock once, and works through the group in
// blocks: while the rule runs over one block, the rows of the next and the index lines of the one after it are on their way
// into the cache, so that the memory's latency is not paid row by row.
//
// Promises: a row is read and written whole (rows are atomic, a call over several rows is not); a row is born once, with
// values that depend on the param's seed and name and on the id alone; an id that is out of range or a slice of the wrong
// length is refused before anything is changed.
//
// # Dense
//
// A [Dense] is one block of a dense variable with its state, cut into chunks with a lock each.
package table
