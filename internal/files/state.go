package files

// State is a file as it was found.
type State struct {
	// Name is without its directory.
	Name string
	// Bytes is the size that it was written with.
	Bytes int64
	// Err is what is wrong with it, nil if it is whole.
	Err error
}
