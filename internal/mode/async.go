package mode

// Async is asynchronous training: every push is an update at once, whatever the other workers do.
type Async struct{ one [1]int }

// Push implements [Server].
func (a *Async) Push(worker int, _ Round) ([]int, error) {
	a.one[0] = worker
	return a.one[:], nil
}

// Park implements [Server].
func (a *Async) Park(int, Round) ([]int, error) { return nil, nil }

// Leave implements [Server].
func (a *Async) Leave(int, bool) []int { return nil }

// Applied implements [Server].
func (a *Async) Applied([]int) {}

// Reached implements [Server].
func (a *Async) Reached(Round) bool { return true }

// Open implements [Server].
func (a *Async) Open() Round { return 0 }

// Missing implements [Server].
func (a *Async) Missing() []int { return nil }

// Lockstep implements [Server].
func (a *Async) Lockstep() bool { return false }
