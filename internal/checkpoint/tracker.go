package checkpoint

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/table"
)

// Tracker makes the images of a process's parts of the checkpoints that a job makes by itself. It knows what has
// changed since the last of them and, as long as it was not said that this one was committed, since the one before it.
type Tracker struct {
	store  *table.Store
	deltas bool

	before, last string              // ids of these; empty for none
	taken        []*table.TableImage // has what changed between the two
}

// NewTracker is a tracker of tables that are not in use yet; without deltas everything is in its images.
func NewTracker(store *table.Store, deltas bool) *Tracker {
	for _, t := range store.Tables {
		if deltas {
			t.Track()
		}
	}
	return &Tracker{store: store, deltas: deltas}
}

// Remade says that the next checkpoint must be whole, since rows were dropped or replaced.
func (k *Tracker) Remade() bool {
	if !k.deltas {
		return true
	}
	for _, t := range k.store.Tables {
		if t.Remade() {
			return true
		}
	}
	return false
}

// Image is that of the part of checkpoint id: of everything, or with the id of a base of what is other than there. If
// it does not know that base, since another process has written it, all rows are taken to be other. The image before
// must be closed.
func (k *Tracker) Image(id, base string) (Image, error) {
	if !k.deltas {
		return ImageOf(k.store), nil
	}
	known := base != "" && (base == k.last || base == k.before)
	if known && base == k.before { // the last was never committed
		for _, t := range k.taken {
			t.GiveBack()
		}
		k.taken = nil
	}
	if known && k.Remade() {
		return Image{}, fmt.Errorf("checkpoint: rows were dropped since checkpoint %s, on which %s is to be based",
			base, id)
	}
	take := k.store.TakeImage
	if known {
		take = k.store.TakeChanges
	}
	image := Image{Image: take()}
	switch k.before, k.last, k.taken = "", id, nil; {
	case known:
		k.before, k.taken, image.rows = base, image.Tables, changedRows
	case base != "":
		image.rows = othersRows
	}
	return image, nil
}
