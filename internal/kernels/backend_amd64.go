package kernels

// fastest is the best path of this processor.
func fastest() *backend { return &portable }

// paths are all that this processor can run.
func paths() []*backend { return []*backend{&portable} }
