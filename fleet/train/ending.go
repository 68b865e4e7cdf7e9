package train

import (
	"iter"
	"sync/atomic"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
)

// ending is the end of a job before its last epoch.
type ending struct {
	stop   atomic.Pointer[string] // why this worker asks to end; nil if it does not
	agreed atomic.Bool            // all have agreed that the epoch ends here
	apart  atomic.Bool            // a worker without servers has come to the end of its share
	upTo   int                    // batches of the epoch that were read when the job was stopped; 0 if it was not
	meet   bool                   // workers make their steps together, and stop between two of them
	late   bool                   // the job stops at an epoch's end alone
}

// now reports whether this worker trains no more in this epoch, since the job was stopped.
func (e *ending) now() bool {
	return e.agreed.Load() || e.stopping() && !e.late && (!e.meet || e.apart.Load())
}

// until yields the batches until the job is over.
func (e *ending) until(batches iter.Seq2[dataset.Batch, error]) iter.Seq2[map[string]*tensor.Dense, error] {
	return func(yield func(map[string]*tensor.Dense, error) bool) {
		given := 0
		for batch, err := range batches {
			if given++; e.now() && given > e.upTo || !yield(batch, err) {
				return
			}
		}
	}
}

func (e *ending) stopping() bool { return e.stop.Load() != nil }
