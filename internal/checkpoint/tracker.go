package checkpoint

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/table"
)

// Tracker makes the images of a process's parts for the checkpoints that a job makes by itself. It records what has
// changed since the last of them and, until the last is known to be committed, since the one before it.
type Tracker struct {
	store  *table.Store
	deltas bool

	before, last string              // ids of these two checkpoints; empty for none
	taken        []*table.TableImage // what has changed between the two
}

// NewTracker returns a tracker of tables that are not in use yet. Without deltas its images hold everything.
func NewTracker(store *table.Store, deltas bool) *Tracker {
	for _, t := range store.Tables {
		if deltas {
			t.Track()
		}
	}
	return &Tracker{store: store, deltas: deltas}
}

// Remade reports whether the next checkpoint must be whole: without deltas, or if rows were dropped or replaced.
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

// Image returns the image for the part of checkpoint id: of everything or, with a base's id, of what differs from the
// base. If another process has written that base, all rows count as different. The image before must be closed. It
// returns an error if rows were dropped since the base.
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
