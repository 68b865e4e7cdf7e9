package progress

// steps counts the training steps of threads in the job, over all epochs and restarts.
type steps struct {
	of    map[Position]uint64 // by thread
	most  uint64              // of any thread
	begun map[int]uint64      // by number of threads: the most steps when that number began
}

// seat is the key of a thread.
func seat(number, of int) Position {
	return Position{Thread: uint16(number), Threads: uint16(max(of, 1))}
}

// set records a thread's steps, if they are counted.
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

// resume takes the counts of a checkpoint.
func (s *steps) resume(from []Position) {
	*s = steps{begun: map[int]uint64{}}
	for _, p := range from {
		s.set(p)
		s.begun[int(p.Threads)] = 0
	}
}

// Counted returns positions with the steps alone: the data begin anew.
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

// Count sets the steps of threads that have made no step in this job to those of a checkpoint.
func (t *Tracker) Count(from []Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range from {
		if t.steps.of[seat(int(p.Thread), int(p.Threads))] == 0 {
			t.steps.set(p)
		}
	}
}

// After makes all threads begin at made steps at least, the steps in a checkpoint of another number of workers.
func (t *Tracker) After(made uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps.most = max(t.steps.most, made)
}

// Steps returns the number of training steps of a thread. If the number of threads changes, all begin with the most
// steps that any had made.
func (t *Tracker) Steps(number, of int) (made uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if made, ok := t.steps.of[seat(number, of)]; ok {
		return made
	}
	of = max(of, 1)
	if _, ok := t.steps.begun[of]; !ok {
		if t.steps.begun == nil {
			t.steps.begun = map[int]uint64{}
		}
		t.steps.begun[of] = t.steps.most
	}
	return t.steps.begun[of]
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
