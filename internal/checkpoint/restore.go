package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// From describes a directory and what is taken from it, so that processes can compare their options.
func From(dir string, s Selection) string { return fmt.Sprintf("%s (%v)", files.Clean(dir), s) }

// Restore loads a checkpoint or, if dir holds none, a model that was saved for inference, which has only weights and
// fits any rule. Its arguments and errors are those of load.
func Restore(ctx context.Context, dir string, store *table.Store, rule optimizer.Rule, params []*optimizer.Param,
	owns func(t int, id uint64) bool, s Selection) (Manifest, error) {
	m, err := load(ctx, dir, store, rule, params, owns, s)
	if !errors.Is(err, ErrNone) {
		return m, err
	}
	f, none := modelfiles.Open(ctx, dir)
	if none == nil {
		defer f.Close()
		_, none = f.Graph() // files of weights without a graph may be parts of a checkpoint without a manifest
	}
	switch {
	case errors.Is(none, modelfiles.ErrNone), errors.Is(none, fs.ErrNotExist) &&
		!errors.Is(none, modelfiles.ErrDamaged):
		return m, fmt.Errorf("%w, and no saved model%s", err, near(dir))
	case none != nil:
		return m, fmt.Errorf("checkpoint: model in %s: %w", dir, none)
	}
	l := loader{ctx: ctx, store: store, owns: owns, names: s.Params, weights: true}
	if err := l.model(f, params, &m); err != nil {
		return m, fmt.Errorf("checkpoint: model in %s: %w", dir, err)
	}
	return m, nil
}

// model fills the store from a saved model.
func (l *loader) model(f *modelfiles.Files, params []*optimizer.Param, m *Manifest) (err error) {
	if m.Origin, err = f.Origin(l.ctx); err != nil {
		return err
	}
	if err := l.fits(f, params); err != nil {
		return err
	}
	m.Changed = true
	l.clear()
	for _, p := range params {
		if !l.takes(p.Name) {
			m.Absent = append(m.Absent, p.Name)
			continue
		}
		load := l.dense
		if p.Embedding {
			load = l.embedding
		}
		if err := first(func() error { return files.Ended(l.ctx) }, func() error { return load(f, p) }); err != nil {
			return err
		}
	}
	return nil
}

// fits returns an error that names a difference between a model's params and the params to load.
func (l *loader) fits(f *modelfiles.Files, params []*optimizer.Param) error {
	wanted, err := named(Params(params), l.names)
	if err != nil {
		return err
	}
	for _, p := range wanted {
		if !f.Has(p.Name) {
			return fmt.Errorf("it has no param %q; to load some params alone, name them: %w", p.Name, ErrOtherModel)
		}
	}
	for _, name := range f.Names() {
		if len(l.names) == 0 && !slices.ContainsFunc(params,
			func(p *optimizer.Param) bool { return slices.Contains(modelTensors(p), name) }) {
			return fmt.Errorf("its param %q is not in this model; to load some params alone, name them: %w", name,
				ErrOtherModel)
		}
	}
	return nil
}

// modelTensors returns the names of a param's tensors in a saved model.
func modelTensors(p *optimizer.Param) []string {
	if p.Embedding {
		return []string{p.Name, p.Name + ".ids"}
	}
	return []string{p.Name}
}

// dense loads the weights of a dense param into the store's blocks of it.
func (l *loader) dense(f *modelfiles.Files, p *optimizer.Param) error {
	w, shape, err := f.Dense(p.Name)
	if err != nil {
		return err
	}
	if !slices.Equal(shape, p.Shape) {
		return fmt.Errorf("its param %q has shape %v, this model's %v: %w", p.Name, shape, p.Shape, ErrOtherModel)
	}
	for _, b := range l.store.Blocks {
		if b.Param.Name != p.Name {
			continue
		}
		if err := b.Values.Restore(w[b.Offset:][:b.Values.Len()], nil, l.store.Step()); err != nil {
			return err
		}
	}
	return nil
}

// embedding loads the rows of an embedding that this process owns.
func (l *loader) embedding(f *modelfiles.Files, p *optimizer.Param) error {
	to, _ := l.find(p.Name)
	return f.Rows(p.Name, func(ids []uint64, w []float32) error {
		if len(w) != len(ids)*p.Dim() {
			return fmt.Errorf("its rows of %q have %d numbers, this model's %d: %w", p.Name, len(w)/len(ids), p.Dim(),
				ErrOtherModel)
		}
		if err := files.Ended(l.ctx); err != nil {
			return err
		}
		return to.Set(ids, w, l.store.Step())
	})
}
