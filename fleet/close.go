package fleet

// Close ends a worker's part in the job before its work is done, in programs that have failed. It notifies the servers
// that it can reach within a heartbeat; other servers notice the missing heartbeats. The servers go on without this
// worker; in sync with a [strategy.Recovery] they first wait three heartbeats, since other workers may be asked to end
// too. In a collective job it notifies the other workers. When Close returns, its goroutines and idle connections have
// ended. It does nothing after StopWorker, on a server (end that by RunServer's ctx), or in a process alone. It may be
// called twice.
//
// With a [strategy.Recovery], and if the context of InitWorker has ended, for example by a signal, Close first saves a
// checkpoint, in a process alone too, if that takes no longer than a minute. The lowest of the workers that end this
// way logs that the same command resumes from it.
func (f *Fleet) Close() {
	f.mu.Lock()
	j := f.job
	f.mu.Unlock()
	if j == nil {
		return
	}
	if j.Close(); j.Backend != nil {
		f.seen.Hide()
	}
}
