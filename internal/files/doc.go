// Package files writes files that appear under their name complete and durable, or not at all, with checksums. It opens
// regular files only, and returns an error for names that only look like files of this machine.
//
// A [File] is written under a temporary name beside its own. Finish makes it durable there; Commit renames it:
//
//	f, err := files.Create("model/weights.safetensors")
//	err = write(f)       // a bufio.Writer
//	err = f.Commit()     // or f.Abandon()
//	f.Size(), f.Sum()    // of what was written
//
// URLs are names of files in stores (package fleet/store). Every function that takes a name takes a URL: a file of a
// store is written to a temporary file of this machine, and Commit sends it to the store.
//
// A test that records or spoils writes passes another [FS] than [OS].
package files

// The files of this package, in reading order.
//
//	local.go      checks of names and directories of this machine
//	names.go      names on disks and in stores
//	fs.go         the operations of a file system that writing needs
//	atomic.go     files that appear complete or not at all
//	sum.go        checksums
//	state.go      the result of examining a file
//	sealed.go     files whose size and checksum are in a record
//	open.go       opening files for reading
//	reading.go    reading files of stores
//	blocks.go     reading them at any offset
//	stream.go     reading them from start to end
//	remote.go     other requests to a store
//	remotefs.go   a store as a file system to write to
//	lock_unix.go, lock_other.go                locks that end with their process
//	writeback_linux.go, writeback_other.go     writing to the disk before Sync
