package fleet

// Close ends a worker's part in the job before its work is done: for programs that have failed. Servers that can be reached within a
// heartbeat are told, and go on without it; others miss its heartbeats. In a collective job the other workers are told. Its goroutines
// and idle connections have ended when Close returns. With a [strategy.Recovery], where the context of InitWorker has ended, as signals have it
// do, a checkpoint is saved first, if that takes no longer than a minute. It does nothing after StopWorker, on a server (RunServer's ctx ends that), or alone.
// It may be called twice.
func (f *Fleet) Close() {
	f.mu.Lock()
	j := f.job
	f.mu.Unlock()
	if s := f.endSaving(); s != nil {
		s.rescue()
	}
	if j != nil && j.backend != nil {
		j.backend.Close()
	}
}
