// Package checkpoint writes the tables of a job to disk and loads them. A checkpoint is complete, or loading it is an
// error.
//
// A checkpoint is a directory. Each server writes one part, a safetensors file, under a temporary name, syncs it and
// renames it; when all parts are there, manifest.json is written the same way, and only then are the parts of the
// previous checkpoint removed. So a reader finds the old checkpoint or the new one, complete. The manifest has the size
// and checksum of every part, and a checksum of itself.
//
// A part holds each dense block's weights ("fc_0.w_0[0:50176]") and its rule's state ("….state", slot after slot); the
// first part also holds the frozen params of the worker that saved. Of each embedding it holds ids, rows (weights and
// state side by side), other columns of rows (step, seen, updates; show, click and delta if an entry policy counts
// them; flags for models for serving, once there is one), and the ids that wait for a row. The file's metadata lists
// the arrays, under "gofleet". [Restore] reads any number of parts into any number of servers: each loads the rows and
// blocks that it owns.
//
// A job claims the directories that it saves into (job.lock), and no other job saves there while it lives: [Claims].
//
// A [Series] is the checkpoints that a job makes by itself, each in its own directory. A job resumes from the newest
// complete one; the last few are kept. A checkpoint may be based on the one before: it has all dense weights, but only
// the rows and waiting ids that have changed since, which a [Tracker] records. Its manifest names the base
// by directory, id and checksum. Loading reads the chain from the whole checkpoint at its beginning on, later rows over
// earlier ones. A base is kept as long as a checkpoint that needs it:
//
//	ckpt-000004      ckpt-000005       ckpt-000006      ckpt-000007
//	whole       <──  based on 4   <──  based on 5       whole
package checkpoint

// The files of this package, in reading order.
//
//	dir.go       names of files in a directory, and the file system
//	contents.go  the description of a part's arrays
//	columns.go   arrays with a number for each row
//	names.go     params whose tensors would have the same name
//	manifest.go  the manifest
//	chain.go     checkpoints, each based on the one before
//	part.go      writing a server's part
//	tracker.go   what of it has changed
//	counts.go    ids that wait for rows
//	commit.go    writing the manifest, last
//	loader.go    what is loaded into tables
//	rows.go      loading rows, some thousand at a time
//	servings.go  flags of rows for models for serving
//	load.go      loading a checkpoint
//	restore.go   loading a checkpoint or a saved model
//	near.go      suggestions for a directory that holds neither
//	hold.go      a directory on a disk that one job has, and whether its process lives
//	lease.go     the same in a store
//	claims.go    all directories that a job has
//	pin.go       checkpoints that are never removed
//	series.go    checkpoints that a job makes by itself
//	over.go      the mark of a job that has ended
//	based.go     the base of the next checkpoint
//	verify.go    checking every byte of saved files
//	describe.go  what saved files hold
