// Package checkpoint puts the tables of a job on disk and back, so that a checkpoint is complete or refused.
//
// A checkpoint is a directory. Each server writes one part, a safetensors file, under a temporary name, syncs it and
// renames it; when all parts are there, manifest.json is written the same way, and only then are the parts of the
// previous checkpoint removed. So a reader finds the old checkpoint or the new one, whole. The manifest has the size
// and checksum of every part, and its own.
//
// A part holds, for each dense block (in the first part the frozen params of the worker that saved, too), its weights
// ("fc_0.w_0[0:50176]") and the rule's state ("….state", slot after slot), and for each embedding ids, rows (weights
// and state side by side), what the table knows of each row (step, seen, updates; show, click and delta when an entry
// policy counts them; what models for serving have of it, once there is one), and the ids that wait for a row. What
// lies where is in the file's metadata under "gofleet". [Restore] reads any number of parts into any number of servers:
// each takes what it owns.
//
// A job claims the directories that it saves into (job.lock), and no other job saves there while it lives: [Claims].
//
// A [Series] is the checkpoints that a job makes by itself, each in a directory of its own, of which the newest whole
// one counts and the last few stay. One of them may be based on the one before: it has all dense weights, and of rows
// and waiting ids only what has changed since, which a [Tracker] knows. Its manifest (version 2) names the base
// by directory, id and checksum; loading reads the chain from its whole beginning on, later rows over earlier ones. A
// chain is as good as its links, so that what a checkpoint is based on stays as long as it does:
//
//	ckpt-000004      ckpt-000005       ckpt-000006      ckpt-000007
//	whole       <──  based on 4   <──  based on 5       whole
package checkpoint

// The files of this package, in reading order.
//
//	dir.go       names of files in a directory, and the disk that they lie on
//	contents.go  what a part has, as it says itself
//	columns.go   what it has of each row, an array for each
//	names.go     params that could not be told apart
//	manifest.go  what makes parts a checkpoint
//	chain.go     each based on the one before
//	part.go      what a server writes
//	tracker.go   and what of it has changed
//	counts.go    what tables know of ids beside their rows
//	commit.go    the manifest, last
//	loader.go    what is read into tables
//	rows.go      some thousand rows at a time
//	servings.go  what models for serving have of them
//	load.go      a checkpoint
//	restore.go   or a part of it, or a saved model
//	near.go      what was meant by a directory that has none
//	hold.go      a directory that is one job's, and whether its holder lives
//	lease.go     the same in a store
//	claims.go    all that a process holds
//	pin.go       checkpoints that stay
//	series.go    checkpoints that a job makes by itself
//	over.go      the mark of a job whose work is done
//	based.go     what the next is based on
//	verify.go    whether files are whole
//	describe.go  what is in them
