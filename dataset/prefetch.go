package dataset

import (
	"context"
	"io"
)

// Prefetch makes up to n batches ahead of the loop, on a goroutine that ends with the loop. When the loop breaks, it
// waits for the current Read; a Read of files, or of an OpenContext, that waits for data is cancelled. 0, the default,
// makes each batch on demand.
func (d *Dataset) Prefetch(n int) *Dataset {
	if n < 0 {
		return d.fail("Prefetch(%d): want 0 or more batches", n)
	}
	next := *d
	next.ahead = n
	return &next
}

// made is a batch on its way to the loop, or the end of the pass.
type made struct {
	slot  *slot
	batch Batch
	err   error
}

// runAhead runs the maker and passes its batches to the loop. Slots go in a circle: free, filled, ready, yielded, free.
func (p *pass) runAhead(cancel context.CancelFunc, yield func(Batch, error) bool) {
	free := make(chan *slot, held+p.ahead)
	for range held + p.ahead {
		free <- nil // made at first use
	}
	// The maker holds one made batch, the queue the others.
	ready, ended := make(chan made, p.ahead-1), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(ready)
		p.makeAhead(free, ready)
	}()
	defer func() { <-ended }()
	defer cancel()

	var ring [held]*slot
	for i := 0; ; i++ {
		m, open := <-ready
		if err := p.ended(i); err != nil {
			yield(nil, err)
			return
		}
		if !open || !yield(m.batch, m.err) || m.err != nil {
			return
		}
		// The loop may still use the batch before the last one; the one before that is free.
		if old := ring[(i+1)%held]; old != nil {
			free <- old
		}
		ring[i%held] = m.slot
	}
}

// makeAhead makes batches until the last one, an error, or the end of the pass's context.
func (p *pass) makeAhead(free <-chan *slot, ready chan<- made) {
	for {
		var m made
		select {
		case m.slot = <-free:
		case <-p.ctx.Done():
			return
		}
		if m.slot == nil {
			m.slot = p.newSlot()
		}
		if m.batch, m.err = p.fill(m.slot); m.err == io.EOF {
			return
		}
		select {
		case ready <- m:
		case <-p.ctx.Done():
			return
		}
		if m.err != nil {
			return
		}
	}
}
