package fleet

// Close ends a worker's part in the job without a word to the servers, which miss its heartbeats and go on without it: for
// programs that have failed and live on. Its goroutines and idle connections have ended when Close returns. Where
// StopWorker was called, or on a server (RunServer's ctx ends that) or alone, it does nothing. It may be called twice.
func (f *Fleet) Close() {
	f.mu.Lock()
	c := f.client
	f.mu.Unlock()
	if c != nil {
		c.Close()
	}
}
