package update

// Foresight: where every push is an update of its own, a gradient is computed on dense weights that miss the updates of
// other workers meanwhile. A rule with momentum then goes too far: each worker has pushed it on before the first effect
// is seen. So the answer to a push has the weights as momentum is predicted to have moved them when the worker's next
// gradient arrives (SpecTrain, Chen et al. 2018; DANA, Hakimi et al. 2019). The weights that tables keep, save and
// evaluate are never predicted ones.

// Ahead are the predicted dense weights for the answer to a push, which its update computes.
type Ahead struct {
	Dense     []float32 // as long as the part; set by the update
	Held      uint64    // the version of the weights that the worker has
	LookAhead bool      // the worker uses weights one step after the step they come with
	Version   uint64    // of Dense; 0 until it is set
}

// otherProcess is a distance of versions that no worker is behind: such a worker has weights of the process before this
// one.
const otherProcess = 1 << 32

// updates is the number of updates that the worker's next gradient is expected to miss: as many as this one missed.
func (a *Ahead) updates(before uint64) int {
	if before < a.Held || before-a.Held >= otherProcess {
		return 0
	}
	missed := int(before - a.Held)
	if a.LookAhead {
		missed += missed + 1
	}
	return missed
}
