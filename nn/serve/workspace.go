package serve

import (
	"slices"

	"github.com/gofleet/gofleet/dataset"
)

// workspace is the memory of a call.
type workspace struct {
	call
	lines, json, fields *dataset.Decoder // made when first needed
	size                int              // bytes of all memory in it, approximately
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
	return &workspace{call: call{Call: r.frozen.NewCall()}}
}

// give keeps the memory of a call that has ended for other calls. Above the limit it drops the largest.
func (r *scoring) give(w *workspace) {
	w.size, w.scores = w.Size(), nil
	w.Release()
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
