package server

import (
	"slices"
	"sync"
)

// delays remembers, for delay compensation, the dense weights that each worker was sent: its next gradient is computed
// at them. It has a lock of its own, since pulls read weights without the server's.
type delays struct {
	on     bool
	floats int // of a server's dense weights
	mu     sync.Mutex
	pulled [][]float32 // by worker
}

// remember stores the dense values that a worker is sent, from place from on. The caller needs no lock.
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

// of returns a copy of the weights that a worker was sent, at which its next gradient was computed; nil if it was sent
// none.
func (d *delays) of(worker int) []float32 {
	if !d.on {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.pulled[worker])
}

// forget drops the weights of a worker when a life begins.
func (d *delays) forget(worker int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pulled[worker] = nil
}
