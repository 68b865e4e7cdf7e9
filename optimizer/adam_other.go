//go:build !amd64

package optimizer

// adamLoops are all that this processor can run.
func adamLoops() []adamLoop { return []adamLoop{adamPortable} }
