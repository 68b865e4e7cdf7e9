package update

// Foresight: where every push is an update of its own, a gradient is computed on dense weights that miss the updates of
// other workers meanwhile, and a rule with momentum then goes too far: each of them has pushed it on before the first
// effect is seen. So the answer to a push has the weights as momentum will have moved them when the worker's next
// gradient arrives (SpecTrain, Chen et al. 2018; DANA, Hakimi et al. 2019). The weights that tables keep, save and
// evaluate are never foreseen ones.

// Ahead are the dense weights that an update leaves for the answer to its push, while they are near anyway.
type Ahead struct {
	Dense     []float32 // as long as the part; set by the update
	Held      uint64    // the version of the weights that the worker has
	LookAhead bool      // it uses weights one step after the step they come with
	Version   uint64    // that Dense has; 0 until it is set
}

// otherProcess is a distance of versions that no worker is behind: the worker has weights of the process before this
// one.
const otherProcess = 1 << 32

// updates is how many updates the worker's next gradient is expected to miss: as many as this one has.
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
