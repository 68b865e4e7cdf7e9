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
// Where a test is to see or spoil what is written, it gives another [FS] than the [OS].
package files
