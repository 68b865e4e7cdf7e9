package nn

import "sync"

// folder does work beside calls, a piece at a time, for as long as there is any.
type folder struct {
	mu        sync.Mutex // guards what follows
	works     bool
	again     bool // begin was called since the last piece
	closed    bool
	goroutine sync.WaitGroup
}

// begin says that there may be work: pieces are done until one says that there was none.
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

// goesOn says whether there may be more to do behind a piece.
func (f *folder) goesOn(more bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.works = !f.closed && (more || f.again)
	f.again = false
	return f.works
}

// close waits until the piece under way is done; none is begun any more.
func (f *folder) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.goroutine.Wait()
}
