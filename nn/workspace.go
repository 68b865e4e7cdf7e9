package nn

import (
	"slices"

	"github.com/gofleet/gofleet/dataset"
)

// workspace is the memory of a call.
type workspace struct {
	call
	lines, json *dataset.Decoder // made when first needed
	size        int              // bytes of all memory in it, approximately
}

// mostFree is the number of workspaces that are kept for later calls.
const mostFree = 64

// mostKept is the most bytes that they may have together; the last is kept whatever its size, for a loop over large
// batches. Tests change it.
var mostKept = 256 << 20

// memory returns the memory for a call: that of the previous call, which is in caches.
func (r *scoring) memory() *workspace {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		w := r.free[n-1]
		r.free = r.free[:n-1]
		r.kept -= w.size
		return w
	}
	exe := NewExecutor(r.model.Graph)
	exe.packed, exe.asLoaded = r.packed, r.asLoaded
	return &workspace{call: call{exe: exe}}
}

// give keeps the memory of a call that has ended for other calls. Above the limit it drops the largest.
func (r *scoring) give(w *workspace) {
	w.size = w.bytes()
	w.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, w)
	r.kept += w.size
	for len(r.free) > mostFree || len(r.free) > 1 && r.kept > mostKept {
		r.kept -= r.letGo()
	}
}

// letGo drops the largest workspace, and returns its size.
func (r *scoring) letGo() int {
	most := 0
	for i, w := range r.free {
		if w.size > r.free[most].size {
			most = i
		}
	}
	size := r.free[most].size
	r.free = slices.Delete(r.free, most, most+1)
	return size
}

// bytes is the approximate size of the memory in the cells, their feeds, and the rows of embeddings.
func (w *workspace) bytes() int {
	floats, ids := 0, 0
	for _, c := range w.exe.cells {
		if c != nil && c.param == nil {
			floats += cap(c.values) + c.kept()
		}
	}
	for _, p := range w.exe.plans {
		for _, s := range p.chains {
			s.each(func(p *portion) {
				for _, c := range p.cells {
					floats += c.kept()
				}
			})
		}
	}
	for _, t := range w.exe.held.tables {
		floats += cap(t.w)
	}
	for _, b := range []*feedBatch{w.feed, &w.joint} {
		if b == nil {
			continue
		}
		for i := range b.floats {
			floats += cap(b.floats[i])
			ids += cap(b.ids[i]) + cap(b.offsets[i])
		}
		for _, s := range b.tables {
			ids += 6 * cap(s.step.ids) // including the memory for making them unique
		}
	}
	return 4*floats + 8*ids
}

// release drops the caller's data: feeds and scores.
func (w *workspace) release() {
	w.scores = nil
	if w.feed == nil {
		return
	}
	clear(w.feed.floats)
	clear(w.feed.ids)
	clear(w.feed.offsets)
	clear(w.feed.places)
	if w.plan == nil {
		return
	}
	for _, c := range w.plan.feeds {
		c.value, c.ids, c.offsets = nil, nil, nil
	}
	for _, s := range w.plan.chains {
		s.each((*portion).letGo)
	}
}
