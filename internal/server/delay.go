package server

import (
	"slices"
	"sync"
)

// delays remembers, where gradients are compensated for their delay, which dense weights each worker was given, at
// which its next gradient is computed. It has a lock of its own, since pulls read weights without the server's.
type delays struct {
	on     bool
	floats int // of a server's dense weights
	mu     sync.Mutex
	pulled [][]float32 // by worker
}

// remember takes the dense values that a worker gets, from that place on. It needs no lock of its caller.
func (d *delays) remember(worker, from int, w []float32) {
	if !d.on {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pulled[worker] == nil {
		d.pulled[worker] = make([]float32, d.floats)
	}
	copy(d.pulled[worker][from:], w)
}

// of is a copy of what a worker was given, nil if it was given nothing. The gradient that comes next was computed at
// these weights.
func (d *delays) of(worker int) []float32 {
	if !d.on {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.pulled[worker])
}

// forget is for a life that begins.
func (d *delays) forget(worker int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pulled[worker] = nil
}
