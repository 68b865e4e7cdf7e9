package files

import (
	"io"
	"slices"
	"sync"
)

const (
	blockBytes = 1 << 20
	runBlocks  = 4 // requested together for a reader that reads on
)

// blocks caches, on this machine, what was read of a file of a store: readers of columnar formats read some bytes here
// and there, and come back. No block is requested twice. A reader waits only for the blocks that it needs.
type blocks struct {
	mu   sync.Mutex
	kept *Scratch // with each block at its offset in the file
	all  []block  // by index
}

// block is cached, or requested, or neither.
type block struct {
	here bool
	by   *arrival // nil if it is not requested
}

// arrival is a request for blocks.
type arrival struct {
	over   chan struct{} // closed when it has ended
	failed error
}

func (b block) asked() bool { return b.here || b.by != nil }

// readAt implements ReadAt for bytes after the first headBytes, by blocks.
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

// keep returns the cache when it holds a span of the file. If the store sends a file only from its start, so that a
// part costs as much as all before it, the span is the whole file. keep first requests the blocks that no reader has
// requested, then waits for blocks that other readers have requested, and returns their errors.
func (f *remote) keep(from, to int64) (*Scratch, error) {
	k := &f.blocks
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		kept, err := NewScratch()
		if err != nil {
			return nil, err
		}
		k.kept, k.all = kept, make([]block, (f.info.Size+blockBytes-1)/blockBytes)
	}
	if !k.all[0].here && costs(f.in).FromStart {
		from, to = 0, f.info.Size
	}
	first, end := int(from/blockBytes), int((to-1)/blockBytes)+1
	for {
		span := k.all[first:end]
		if i := slices.IndexFunc(span, func(b block) bool { return !b.asked() }); i >= 0 {
			if err := f.fetch(first+i, k.run(first+i, end)); err != nil {
				return nil, err
			}
		} else if i := slices.IndexFunc(span, func(b block) bool { return !b.here }); i >= 0 {
			by := span[i].by
			k.mu.Unlock()
			<-by.over
			k.mu.Lock()
			if by.failed != nil {
				return nil, by.failed
			}
		} else {
			return k.kept, nil
		}
	}
}

// run returns the end of the blocks that are requested together with block from: up to wanted, and further if the
// reader reads on. mu is held.
func (k *blocks) run(from, wanted int) (end int) {
	if from > 0 && k.all[from-1].here {
		wanted = max(wanted, from+runBlocks)
	}
	for end = from; end < min(wanted, len(k.all)) && !k.all[end].asked(); end++ {
	}
	return end
}

// fetch reads blocks from the store. The caller holds mu; fetch releases it during the transfer.
func (f *remote) fetch(from, end int) error {
	k, by := &f.blocks, &arrival{over: make(chan struct{})}
	defer close(by.over)
	for i := range k.all[from:end] {
		k.all[from+i].by = by
	}
	k.mu.Unlock()
	p := puller{file: f, ctx: f.ctx, at: int64(from) * blockBytes, end: min(int64(end)*blockBytes, f.info.Size)}
	defer p.Close()
	_, by.failed = io.Copy(io.NewOffsetWriter(k.kept, p.at), &p)
	k.mu.Lock()
	for i := range k.all[from:end] {
		k.all[from+i] = block{here: by.failed == nil}
	}
	return by.failed
}
