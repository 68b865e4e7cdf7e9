package solo

import (
	"context"
	"encoding/json"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Shrink implements [backend.Trainer]. Steps wait until it is over. The result is by embedding.
func (t *Trainer) Shrink(_ context.Context, o table.Shrink, as *progress.Deed) (freed []table.Shrunk, err error) {
	err = t.local.Still(func() error {
		if done, err := t.deeds.Done(as); err != nil || as.Tell(done) {
			return err
		}
		t.periods++
		freed, err = t.Store().EndPeriod(o)
		if err == nil && as.Named() != nil {
			t.deeds.Add(as, [][]byte{saidOf(freed)})
		}
		return err
	})
	if err == nil && as.Named() != nil && as.Before {
		freed, err = freedOf(as.Said, len(t.Store().Tables))
	}
	return freed, err
}

// saidOf is what a period has dropped, as servers say it.
func saidOf(freed []table.Shrunk) []byte {
	var all wire.Freed
	for _, f := range freed {
		all.Rows, all.Waiting = append(all.Rows, f.Rows), append(all.Waiting, f.Waiting)
	}
	text, _ := json.Marshal(all) // of numbers
	return text
}

func freedOf(said [][]byte, tables int) (freed []table.Shrunk, err error) {
	all := wire.Freed{Rows: make([]int, tables), Waiting: make([]int, tables)}
	for _, text := range said {
		if err := all.Add(text, tables); err != nil {
			return nil, err
		}
	}
	for t := range tables {
		freed = append(freed, table.Shrunk{Rows: all.Rows[t], Waiting: all.Waiting[t]})
	}
	return freed, nil
}
