package fleet

import (
	"context"
	"errors"
)

// Close ends a worker's part in the job without a word to the servers, which miss its heartbeats and go on without it: for
// programs that have failed and live on. In a collective job the other workers are told. Its goroutines and idle connections
// have ended when Close returns. Where StopWorker was called, or on a server (RunServer's ctx ends that) or alone, it does
// nothing. It may be called twice.
func (f *Fleet) Close() {
	f.mu.Lock()
	c, r := f.client, f.replica
	f.mu.Unlock()
	if r != nil {
		if err := r.Close(context.Background(), errClosed); err != nil {
			f.log.Warn("fleet: closing", "error", err)
		}
	}
	if c != nil {
		c.Close()
	}
}

// errClosed is what other workers of a collective job hear of one that was closed.
var errClosed = errors.New("the worker was closed before StopWorker")
