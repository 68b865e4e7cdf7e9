//go:build !unix

package torchtest

import "time"

var began = time.Now()

// processorTime is not known here: time passes as it does for a process that has a core for itself.
func processorTime() time.Duration { return time.Since(began) }
