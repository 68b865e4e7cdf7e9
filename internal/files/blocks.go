package files

import (
	"io"
	"sync"

	"github.com/gofleet/gofleet/fleet/store"
)

const (
	blockBytes = 1 << 20
	runBlocks  = 4 // are asked for together where a reader goes on
)

// blocks are what was read of a file of a store, on this machine: formats of columns ask for some bytes here and there,
// and come back. No block is asked for twice.
type blocks struct {
	mu   sync.Mutex
	kept *Scratch // with each block where it is in the file
	have []bool   // by number
}

// readAt is ReadAt by blocks.
func (f *remote) readAt(b []byte, at int64) (n int, err error) {
	wanted := b[:min(int64(len(b)), f.info.Size-at)]
	kept, err := f.keep(at, at+int64(len(wanted)))
	if err == nil {
		n, err = kept.ReadAt(wanted, at)
	}
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// keep has a span of the file be here. Where a part costs the store what all before it does, all of it is.
func (f *remote) keep(from, to int64) (*Scratch, error) {
	k := &f.blocks
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		kept, err := NewScratch()
		if err != nil {
			return nil, err
		}
		k.kept, k.have = kept, make([]bool, (f.info.Size+blockBytes-1)/blockBytes)
	}
	if !k.have[0] && store.CostsOf(f.in).FromStart {
		from, to = 0, f.info.Size
	}
	last := int((to - 1) / blockBytes)
	for i := int(from / blockBytes); i <= last; i++ {
		if k.have[i] {
			continue
		}
		end := i + 1
		for end < len(k.have) && !k.have[end] && (end <= last || i > 0 && k.have[i-1] && end < i+runBlocks) {
			end++
		}
		if err := f.fetch(i, end); err != nil {
			return nil, err
		}
	}
	return k.kept, nil
}

// fetch reads blocks from the store. The lock is held.
func (f *remote) fetch(from, end int) error {
	p := puller{file: f, ctx: f.ctx, at: int64(from) * blockBytes, end: min(int64(end)*blockBytes, f.info.Size)}
	defer p.Close()
	if _, err := io.Copy(io.NewOffsetWriter(f.blocks.kept, p.at), &p); err != nil {
		return err
	}
	for i := from; i < end; i++ {
		f.blocks.have[i] = true
	}
	return nil
}
