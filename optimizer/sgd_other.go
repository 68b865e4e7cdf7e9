//go:build !amd64 && !arm64

package optimizer

// sgdLoops returns all loops that this processor can run.
func sgdLoops() []sgdLoop { return []sgdLoop{sgdPortable} }
