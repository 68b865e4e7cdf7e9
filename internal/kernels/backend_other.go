//go:build !amd64 && !arm64

package kernels

// fastest returns the best path of this processor.
func fastest() *backend { return &portable }

// paths returns all paths that this processor can run.
func paths() []*backend { return []*backend{&portable} }
