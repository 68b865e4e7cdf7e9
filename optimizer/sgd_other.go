//go:build !amd64

package optimizer

// sgdLoops are all that this processor can run.
func sgdLoops() []sgdLoop { return []sgdLoop{sgdPortable} }
