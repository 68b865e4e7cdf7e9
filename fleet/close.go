package fleet

// Close ends a worker's part in the job before its work is done: for programs that have failed. Servers that can be
// reached within a heartbeat are told, and go on without it, in sync with a [strategy.Recovery] three heartbeats later:
// the others may be asked to end too. Other servers miss its heartbeats. In a collective job the other workers are
// told. Its goroutines and idle connections have ended when Close returns. Where StopWorker was called, or on a server
// (RunServer's ctx ends that) or alone, it does nothing. It may be called twice.
//
// With a [strategy.Recovery], and where the context of InitWorker has ended, as a signal has it do, it saves a
// checkpoint first, alone too, if that takes no longer than a minute; of all workers that end so the lowest logs that
// the same command goes on from it.
func (f *Fleet) Close() {
	f.mu.Lock()
	j := f.job
	f.mu.Unlock()
	if s := f.saving.end(); s != nil {
		s.rescue()
	}
	if j != nil && j.backend != nil {
		j.backend.Close()
		f.probes.hide()
	}
}
