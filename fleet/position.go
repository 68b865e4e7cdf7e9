package fleet

import "math"

// Position is how far a worker is in its data: it has trained on the first Samples samples of its share of an epoch.
type Position struct {
	// Epoch is the epoch that the program gave SetProgress; 0 if it gave none.
	Epoch int
	// Samples counts the samples of all training threads of the worker.
	Samples int
}

// In returns how many samples of the worker's share of an epoch have been trained: all (math.MaxInt) for an earlier
// epoch, 0 for a later one.
func (p Position) In(epoch int) int {
	switch {
	case epoch < p.Epoch:
		return math.MaxInt
	case epoch > p.Epoch:
		return 0
	}
	return p.Samples
}

// positionOf converts a position of package progress.
func positionOf(epoch int, samples uint64) Position {
	return Position{Epoch: epoch, Samples: int(min(samples, math.MaxInt))}
}

// Position returns how far this worker is in its data. After InitWorker it says how much of the data the weights
// already contain: as of the checkpoint from which the job resumes or, for a worker that is restarted while the others
// train on, as of its last counted push. Each training step then advances it.
//
// The training loops of package nn resume after it automatically. A program that makes its own steps skips as many
// samples, reading rows in the same order as before:
//
//	rows := train.Shuffle(seed).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum())
//	rows = rows.Skip(f.Position().In(epoch)).MayBeEmpty()
//
// So a job that goes back to a checkpoint trains on each sample of an epoch once, in every mode but geo. Gradients that
// were in flight when the checkpoint was made are in neither the weights nor the position. TrainThreads of package nn
// counts the samples of each training thread. Other programs with several executors call SetThread on each; otherwise
// the epoch begins anew.
//
// In async and half_async, a worker that is restarted alone trains again on the batches that were in flight when it
// died, so the gradients among them that had arrived count twice: for each of its threads, at most (send_queue_size +
// thread_pool_size) × max_merge_var_num batches in async, or those of two pushes of push_samples, and one in
// half_async.
//
// In geo no sample counts twice, but some changes of each worker may be missing: changes of earlier steps that no
// exchange had sent yet, and, if the worker died during an exchange, the part for servers that it had not reached. With
// LocalSGD this holds for all workers but worker 0, whose copy a checkpoint holds.
//
// A job whose number of workers differs from the checkpoint's begins the epoch anew, as does a worker with another
// number of threads; the log says so.
func (f *Fleet) Position() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.job == nil || f.job.Backend == nil {
		return Position{}
	}
	return positionOf(f.job.Backend.Reading().Now())
}

// Made is an optional method of [optimizer.Trainer].
func (t trainer) Made(thread, threads int) (worker int, number uint64) {
	j, err := t.f.workerCall("training")
	if err != nil {
		return t.f.id.Index, 0
	}
	return t.f.id.Index, j.Backend.Reading().Steps(thread, threads)
}

// Passed is an optional method of [optimizer.Trainer].
func (t trainer) Passed(thread, threads, samples int) bool {
	j, err := t.f.workerCall("training")
	return err == nil && j.Backend.Reading().Passed(thread, threads, samples)
}
