package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// load fills store from the checkpoint in dir, which any number of servers may have written. The checkpoint must cover
// the store's dense blocks; of table t load takes the rows whose ids owns accepts, in place of the table's rows. params
// is the whole model. It returns an error for a checkpoint that differs from its manifest, or that another rule or
// model wrote; after an error during loading the store must not be used.
//
// A frozen dense param keeps its values if the checkpoint does not hold it; the manifest's
// Absent names it. If the param was trained when it was saved, load takes its weights.
//
// If ctx ends, load returns an error. The manifest's Changed says whether the store was changed before an error.
//
// With params in s, only these are loaded, from a checkpoint of any model that has them; the others stay as they are.
// The store's count of updates then does not change, and what is loaded counts as updated at the current step.
func load(ctx context.Context, dir string, store *table.Store, rule optimizer.Rule, params []*optimizer.Param,
	owns func(t int, id uint64) bool, s Selection) (Manifest, error) {
	m, err := Read(dir)
	if err != nil {
		return m, err
	}
	err = m.Fits(params, s.Params...)
	if err == nil && !s.WeightsOnly {
		err = m.suits(rule, params, s.Params...)
	}
	if err != nil {
		return m, fmt.Errorf("checkpoint: %s: %w", dir, err)
	}
	m.Origin = fmt.Sprintf("checkpoint %s of step %d (%s)", m.ID, m.Step, m.Sum)
	links, err := chain(dir, m)
	if err != nil {
		return m, err
	}
	l := loader{ctx: ctx, store: store, owns: owns, names: s.Params, weights: s.WeightsOnly}
	for _, b := range store.Blocks {
		w, state, _ := b.Values.Snapshot()
		if l.weights {
			state = nil
		}
		l.blocks = append(l.blocks, loading{w: w, state: state, left: len(w), stateless: b.Param.Frozen || l.weights})
	}
	m.Changed = true
	l.clear()
	for i, at := range slices.Backward(links) {
		for _, read := range []func(at link, p Part, last bool) error{l.drops, l.part} {
			for _, p := range at.Parts {
				if err := read(at, p, i == 0); err != nil {
					return m, fmt.Errorf("checkpoint: part %s of %s: %w", p.File, at.dir, err)
				}
			}
		}
	}
	if err := first(l.await, l.finish); err != nil {
		return m, fmt.Errorf("checkpoint: %s: %w", dir, err)
	}
	if len(l.names) == 0 && !l.weights {
		store.SetStep(m.Step)
		store.SetRateFactors(m.RateFactors)
		store.SetChain(l.chain)
		m.Counted = progress.Counted(m.Positions)
	}
	m.Absent = l.absent
	return m, nil
}

// clear empties the tables that are loaded, which may hold the initial rows of their params.
func (l *loader) clear() {
	l.store.SetChain(table.Chain{}) // until all is loaded
	for _, t := range l.store.Tables {
		if l.takes(t.Param().Name) {
			t.Clear()
		}
	}
}

// drops drops rows that a part of a chain's checkpoint names, before any part's rows come: a bounded table may have
// room for these only then.
func (l *loader) drops(at link, p Part, _ bool) error {
	bounded := func(t *table.Sparse) bool { return t.Param().MaxBytes > 0 && l.takes(t.Param().Name) }
	if at.Base == nil || len(at.Parts) == 1 || !slices.ContainsFunc(l.store.Tables, bounded) {
		return nil
	}
	f, c, err := openPart(l.ctx, at.dir, p)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, t := range c.Tables {
		if to, _ := l.find(t.Param); to != nil && bounded(to.Table) {
			if err := t.drop(f, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop drops the rows that a part names.
func (t tableInfo) drop(f *safetensors.File, to *table.Filler) error {
	if t.Dropped == 0 {
		return nil
	}
	ids, err := safetensors.Read[uint64](f, t.dropped())
	to.Drop(ids)
	return err
}

// part reads a part: its rows and, from the last checkpoint of a chain only, its dense weights, since every checkpoint
// has all of these.
func (l *loader) part(at link, p Part, last bool) error {
	f, c, err := openPart(l.ctx, at.dir, p)
	if err != nil {
		return err
	}
	defer f.Close()
	if !last {
		c.Blocks = nil
	} else if err := l.servings(f, c); err != nil {
		return err
	}
	for _, b := range c.Blocks {
		if err := first(func() error { return files.Ended(l.ctx) }, func() error { return l.block(f, b) }); err != nil {
			return err
		}
	}
	for _, t := range c.Tables {
		if err := l.table(f, t); err != nil {
			return err
		}
	}
	return nil
}

// openPart opens a part after it has checked its size and checksum.
func openPart(ctx context.Context, dir string, p Part) (*safetensors.File, contents, error) {
	file, err := p.sealed().Open(ctx, files.Join(dir, p.File))
	if err != nil {
		return nil, contents{}, spoilt(err)
	}
	return readContents(file)
}

// readContents reads a part's contents. The caller closes the file if there is no error.
func readContents(file files.Reading) (f *safetensors.File, c contents, err error) {
	if f, err = safetensors.OpenFrom(file); err != nil {
		return nil, c, err
	}
	if err := json.Unmarshal([]byte(f.Metadata()[contentsKey]), &c); err != nil {
		f.Close()
		return nil, c, fmt.Errorf("table of contents: %w: %w", ErrDamaged, err)
	}
	return f, c, nil
}

// sealed returns the part's file with its size and checksum in the manifest.
func (p Part) sealed() files.Sealed {
	return files.Sealed{Bytes: p.Bytes, Sum: p.Sum, In: "the manifest"}
}

// spoilt turns an error of a sealed file into one about a checkpoint.
func spoilt(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("it is missing: %w: %w", ErrDamaged, err)
	case errors.Is(err, files.ErrUnlike):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("reading it: %w", err)
}

// block copies the elements that a block of the file shares with the store's blocks of the same param.
func (l *loader) block(f *safetensors.File, b blockInfo) error {
	for i, own := range l.store.Blocks {
		lo, hi := max(b.Offset, own.Offset), min(b.Offset+b.Size, own.Offset+own.Values.Len())
		if own.Param.Name != b.Param || lo >= hi || !l.takes(b.Param) {
			continue
		}
		if err := l.blocks[i].copy(f, b, own.Offset, lo, hi); err != nil {
			return fmt.Errorf("%s: %w", b.weights(), err)
		}
	}
	return nil
}

// copy copies elements [lo, hi) of the param, and the same elements of every slot of the state.
func (to *loading) copy(f *safetensors.File, b blockInfo, offset, lo, hi int) error {
	if err := to.claim(span{lo, hi}); err != nil {
		return err
	}
	if err := safetensors.ReadAt(f, b.weights(), to.w[lo-offset:hi-offset], lo-b.Offset); err != nil {
		return err
	}
	to.step = b.Step
	if to.stateless {
		return nil
	}
	n := len(to.w)
	if b.Offset == offset && b.Size == n && len(to.state) == b.State { // the same block: any layout of the state fits
		return safetensors.ReadAt(f, b.state(), to.state, 0)
	}
	if len(to.state)%n != 0 || b.State%b.Size != 0 || len(to.state)/n != b.State/b.Size {
		return fmt.Errorf("state of %d numbers does not fit a block of %d weights with %d", b.State, n, len(to.state))
	}
	for slot := range b.State / b.Size {
		dst := to.state[slot*n+lo-offset : slot*n+hi-offset]
		if err := safetensors.ReadAt(f, b.state(), dst, slot*b.Size+lo-b.Offset); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) finish() error {
	for i, b := range l.blocks {
		own := l.store.Blocks[i]
		absent := own.Param.Frozen && b.left == len(b.w)
		if absent || !l.takes(own.Param.Name) {
			l.absent = append(l.absent, own.Param.Name)
			continue
		}
		if b.left != 0 {
			return fmt.Errorf("%q lacks %d of the %d weights from element %d on: was it saved from another model? %w",
				own.Param.Name, b.left, len(b.w), own.Offset, ErrDamaged)
		}
		if err := own.Values.Restore(b.w, b.state, l.stepOf(b.step)); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) table(f *safetensors.File, t tableInfo) error {
	if !l.takes(t.Param) {
		return nil
	}
	to, index := l.find(t.Param)
	if to == nil {
		return fmt.Errorf("embedding %q is not in this model: %w", t.Param, ErrDamaged)
	}
	p, state := to.Table.Param(), stateLen(to.Table)
	if t.Dim != p.Dim() || t.State != state && !p.Frozen && !l.weights {
		return fmt.Errorf("embedding %q has rows of %d weights and %d of state, this model's have %d and %d",
			t.Param, t.Dim, t.State, p.Dim(), state)
	}
	if info, _ := f.Tensor(t.rows()); !slices.Equal(info.Shape, []int{t.Rows, t.Dim + t.State}) {
		return fmt.Errorf("rows of embedding %q: %v, the table of contents says %d of %d: %w",
			t.Param, info.Shape, t.Rows, t.Dim+t.State, ErrDamaged)
	}
	to.Clock(t.Clock)
	if err := t.drop(f, to); err != nil {
		return err
	}
	if err := l.rows(f, t, to); err != nil {
		return err
	}
	return l.waiters(f, t, index)
}
