package solo

import (
	"sync"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// Steps counts the samples of this worker's threads together with the updates of their gradients. A checkpoint must
// contain both of a step or neither, or a job that continues would train on samples twice or never.
type Steps struct {
	local   *local.Trainer
	reading progress.Tracker
	mu      sync.RWMutex // read-locked while a step is made and counted
}

// Count makes an update and then counts the samples of its gradients, with no checkpoint in between. If update fails,
// nothing is counted.
func (s *Steps) Count(update func() error, count func()) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	err := update()
	if err == nil {
		count()
	}
	return err
}

// still runs do between two steps, whose samples are then all counted. do waits for steps under way, and steps wait for
// do.
func (s *Steps) still(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.local.Still(do)
}

// trained counts the samples of a step, and takes the averages that it has computed.
func (s *Steps) trained(st *optimizer.Step) {
	if st.Settle != nil {
		st.Settle()
	}
	s.reading.Trained(st.Thread, st.Threads, st.Samples, st.Number)
}
