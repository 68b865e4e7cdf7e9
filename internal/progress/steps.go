package progress

// steps are how many training steps threads have made in the job, over all epochs and restarts.
type steps struct {
	of    map[Position]uint64 // by thread
	most  uint64              // that any thread has made
	begun map[int]uint64      // by number of threads: the most when there came to be so many
	lost  bool                // the weights have more steps in them than anybody has counted
}

// seat is a thread, as the key of what is known of it.
func seat(number, of int) Position {
	return Position{Thread: uint16(number), Threads: uint16(max(of, 1))}
}

// set takes note of a thread's steps, if they are counted.
func (s *steps) set(p Position) {
	if p.Steps == 0 {
		return
	}
	if s.of == nil {
		s.of = map[Position]uint64{}
	}
	s.of[seat(int(p.Thread), int(p.Threads))] = p.Steps
	s.most = max(s.most, p.Steps)
}

// resume takes the counts of a checkpoint. One that has samples and no steps is of a build that did not count
// them.
func (s *steps) resume(from []Position) {
	*s = steps{begun: map[int]uint64{}}
	for _, p := range from {
		s.set(p)
		s.begun[int(p.Threads)] = 0
		s.lost = s.lost || p.Steps == 0 && p.Samples > 0
	}
}

// Counted are positions of which the steps alone count: the data begin anew.
func Counted(all [][]Position) (counted [][]Position) {
	for _, at := range all {
		var its []Position
		for _, p := range at {
			its = append(its, Position{Thread: p.Thread, Threads: p.Threads, Steps: p.Steps})
		}
		counted = append(counted, its)
	}
	return counted
}

// Count has threads that have made no step in this job go on with a checkpoint's.
func (t *Tracker) Count(from []Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range from {
		if t.steps.of[seat(int(p.Thread), int(p.Threads))] == 0 {
			t.steps.set(p)
		}
	}
}

// After has no thread's steps begin below so many, the steps in a checkpoint of another number of workers.
func (t *Tracker) After(made uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps.most = max(t.steps.most, made)
}

// Steps is how many training steps a thread has made. Where there come to be another number of threads, all begin with
// the most that any had made. known is false where the checkpoint that the job goes on from has not counted them.
func (t *Tracker) Steps(number, of int) (made uint64, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if made, ok := t.steps.of[seat(number, of)]; ok {
		return made, true
	}
	of = max(of, 1)
	if _, ok := t.steps.begun[of]; !ok {
		if t.steps.begun == nil {
			t.steps.begun = map[int]uint64{}
		}
		t.steps.begun[of] = t.steps.most
	}
	return t.steps.begun[of], !t.steps.lost
}

// MostSteps is the largest count of the workers' threads.
func MostSteps(workers [][]Position) (most uint64) {
	for _, at := range workers {
		for _, p := range at {
			most = max(most, p.Steps)
		}
	}
	return most
}
