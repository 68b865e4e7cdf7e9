package replica

import (
	"slices"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/optimizer"
)

// goOn begins at the positions in the checkpoint that was loaded, if one was.
func (t *Trainer) goOn() {
	rank, ranks := t.c.Group.Rank, len(t.c.Group.Endpoints)
	t.GoOn(rank, ranks)
	t.at = make([][]progress.Position, ranks)
	if saved := t.Positions(); len(saved) == ranks {
		for r := range t.at {
			t.at[r] = slices.Clone(saved[r])
		}
	}
}

// trained counts a step of this worker, with the averages that it has computed, and returns the position behind it.
func (t *Trainer) trained(st *optimizer.Step) progress.Position {
	if st.Settle != nil {
		st.Settle()
	}
	return t.Reading().Trained(st.Thread, st.Threads, st.Samples, st.Number)
}

// moved sets the positions of all ranks that have a part in an update.
func (t *Trainer) moved(at []progress.Position) {
	for rank, p := range at {
		t.movedTo(rank, p)
	}
}

func (t *Trainer) movedTo(rank int, p progress.Position) {
	if p.Threads > 0 {
		t.at[rank] = progress.Moved(t.at[rank], p)
	}
}
