//go:build !amd64 && !arm64

package optimizer

// adamLoops returns all loops that this processor can run.
func adamLoops() []adamLoop { return []adamLoop{adamPortable} }
