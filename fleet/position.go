package fleet

import "math"

// Position is how far a worker is in its data: it has trained on the first Samples samples of its share of an epoch.
type Position struct {
	// Epoch is the program's, as SetProgress says; 0 if it says nothing.
	Epoch int
	// Samples are of all of the worker's training threads together.
	Samples int
}

// In is how many samples of an epoch's share have been trained: all of them (math.MaxInt) of an epoch before, none of
// one to come.
func (p Position) In(epoch int) int {
	switch {
	case epoch < p.Epoch:
		return math.MaxInt
	case epoch > p.Epoch:
		return 0
	}
	return p.Samples
}

// positionOf is a position of package progress.
func positionOf(epoch int, samples uint64) Position {
	return Position{Epoch: epoch, Samples: int(min(samples, math.MaxInt))}
}

// Position is how far this worker is in its data. Since InitWorker that is what the weights have of it: of the
// checkpoint from which the job goes on, or, for a worker that is started again while the others train on, of what it
// pushed before. Then each training step moves it.
//
// The training loops of package nn go on after it by themselves. A program that takes its steps one by one leaves out
// as many samples, of rows that come in the same order again:
//
//	rows := train.Shuffle(seed).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum())
//	rows = rows.Skip(f.Position().In(epoch)).MayBeEmpty()
//
// So a job that goes back to a checkpoint counts each sample of an epoch once, in every mode but geo. What was on its
// way when the checkpoint was made is in neither the weights nor the position. Samples of another thread than the first
// are counted apart where TrainThreads of package nn trains; executors of one's own say which thread they are
// (SetThread), or the epoch begins anew.
//
// A worker that is started again alone, in async and half_async, trains again on what was on its way when it ended, and
// what had arrived of that counts twice: for each of its threads, in async at most (send_queue_size + thread_pool_size)
// × max_merge_var_num batches, in half_async one.
//
// In geo no sample counts twice, and some of what each worker had changed may be missing: what its exchanges had left
// of earlier steps, and where it ended while an exchange was on its way, that on servers which it had not come to. With
// LocalSGD that is so for all workers but worker 0, whose copy a checkpoint holds.
//
// A job with another number of workers than the checkpoint's begins the epoch anew, as does a worker with another
// number of threads: the log says so.
func (f *Fleet) Position() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job == nil || f.job.backend == nil {
		return Position{}
	}
	return positionOf(f.job.backend.Reading().Now())
}

// Made implements [optimizer.Counter].
func (t trainer) Made(thread, threads int) (worker int, number uint64, known bool) {
	j, err := t.f.workerCall("training")
	if err != nil {
		return t.f.id.Index, 0, true
	}
	number, known = j.backend.Reading().Steps(thread, threads)
	return t.f.id.Index, number, known
}

// Passed implements [optimizer.Resumer].
func (t trainer) Passed(thread, threads, samples int) bool {
	j, err := t.f.workerCall("training")
	return err == nil && j.backend.Reading().Passed(thread, threads, samples)
}
