package serve

import "sync"

// folder does background work between calls, a piece at a time, as long as there is any.
type folder struct {
	mu        sync.Mutex // guards the fields below
	works     bool
	again     bool // begin was called since the last piece
	closed    bool
	goroutine sync.WaitGroup
}

// begin starts the work: pieces are done until one reports that there was none.
func (f *folder) begin(piece func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again = true
	if f.works || f.closed {
		return
	}
	f.works = true
	f.goroutine.Go(func() {
		for f.goesOn(piece()) {
		}
	})
}

// goesOn reports whether another piece follows, and ends the work otherwise.
func (f *folder) goesOn(more bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.works = !f.closed && (more || f.again)
	f.again = false
	return f.works
}

// close waits for the running piece; no other is begun afterwards.
func (f *folder) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.goroutine.Wait()
}
