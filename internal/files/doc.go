// Package files writes files that appear under their name whole and durable, or not at all, with checksums, opens
// regular files alone, and refuses names that only look like files of this machine.
//
// A [File] is written under a temporary name beside its own. Finish makes it durable there, Commit gives it its name:
//
//	f, err := files.Create("model/weights.safetensors")
//	err = write(f)       // a bufio.Writer
//	err = f.Commit()     // or f.Abandon()
//	f.Size(), f.Sum()    // of what was written
//
// Names that are URLs lie in stores (package fleet/store), and every function takes them that takes a name: a file of a
// store is written to a temporary file of this machine, and Commit puts it into the store.
//
// Where a test is to see or spoil what is written, it gives another [FS] than the [OS].
package files

// The files of this package, in reading order.
//
//	local.go      names of this machine alone
//	names.go      names on disks and in stores
//	fs.go         what writing takes of a file system
//	atomic.go     files whole or not at all
//	sum.go        checksums
//	state.go      a file as it was found
//	sealed.go     a file as a record names it
//	open.go       files that are read
//	reading.go    files of stores that are read
//	blocks.go     here and there
//	stream.go     from their beginning to their end
//	remote.go     what else is asked of a store
//	remotefs.go   a store as a file system to write to
//	lock_unix.go, lock_other.go                locks that end with their process
//	writeback_linux.go, writeback_other.go     writing that begins early
