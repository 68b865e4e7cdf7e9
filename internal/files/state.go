package files

// State is the result of examining a file.
type State struct {
	// Name is the file's name, without its directory.
	Name string
	// Bytes is the size with which it was written.
	Bytes int64
	// Err is what is wrong with the file, nil if it is complete.
	Err error
}
