package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/overlay"
	"github.com/gofleet/gofleet/optimizer"
)

// WithDelta returns the model with the changes of a delta, which a fleet's SaveModel saved in dir. The delta must
// directly follow the last one that m was loaded with, or the base. m does not change and may be used meanwhile and
// afterwards; an executor of the new graph sees the new weights. Rows that the delta does not change are shared in
// memory.
func (m *Model) WithDelta(dir string) (*Model, error) {
	f, d, err := modelfiles.OpenDelta(context.Background(), dir)
	if err != nil {
		return nil, fmt.Errorf("serve: loading the delta in %s: %w", dir, err)
	}
	defer f.Close()
	p := modelfiles.Published{Dir: dir, Sum: f.Version(), Delta: &d, Generation: f.Generation()}
	if err := m.followed(p); err != nil {
		return nil, fmt.Errorf("serve: loading the delta in %s: %w", dir, err)
	}
	n := &Model{saved: m.saved, format: m.format, formatErr: m.formatErr, version: f.Version(),
		generation: f.Generation(), lineage: append(slices.Clip(m.lineage), f.Version())}
	if err := n.read(f, func(p *optimizer.Param, rows int) (*overlay.Table, error) {
		gone, err := f.Gone(p.Name)
		if err != nil {
			return nil, err
		}
		return m.tables[p.Name].With(rows, rowsFrom(f, p), gone)
	}); err != nil {
		return nil, fmt.Errorf("serve: loading the delta in %s: %w", dir, err)
	}
	if n.generation != m.generation {
		slog.Info("serve: the job that saves deltas was started again", "base", m.base(), "delta", dir,
			"generation", n.generation, "before", m.generation)
	}
	return n, nil
}

// fold does a part of the work of merging the deltas of one table into it, if there are more than few layers, and
// reports whether there was any work.
func (m *Model) fold(few int) bool {
	for _, t := range m.tables {
		if t.Fold(few) {
			return true
		}
	}
	return false
}

// base is the version of the model to which deltas refer, empty without a record.
func (m *Model) base() string {
	if len(m.lineage) == 0 {
		return ""
	}
	return m.lineage[0]
}

// deltas is the number of deltas that were read.
func (m *Model) deltas() int { return len(m.lineage) - 1 }

// newest returns the model in a directory, if its base differs from m's, or else m; together with the deltas that
// follow it in another directory. With ErrForked it returns the model before the fork.
func (m *Model) newest(dir, deltas string) (*Model, error) {
	dir, deltas, err := published(dir, deltas)
	if err != nil {
		return m, err
	}
	v, err := Version(dir)
	if err != nil || v == "" {
		return m, err
	}
	if v != m.base() {
		if m, err = Load(dir); err != nil {
			return nil, err
		}
	}
	return m.withDeltasIn(deltas)
}

// published returns the base to serve of a directory in which a job publishes, with the directory of its deltas; else
// dir and deltas.
func published(dir, deltas string) (base, of string, err error) {
	base, of, err = modelfiles.ReadCurrent(dir)
	return cmp.Or(base, dir), cmp.Or(deltas, of), err
}

// withDeltasIn returns the model with all deltas that follow it in the directories in dir, each applied to the one
// before. With ErrForked it returns the model before the fork.
func (m *Model) withDeltasIn(dir string) (*Model, error) {
	if dir == "" {
		return m, nil
	}
	if m.base() == "" {
		return nil, fmt.Errorf("serve: deltas in %s: %w", dir, errNoBase)
	}
	found, err := m.deltasIn(dir)
	if err != nil {
		return nil, err
	}
	for i, d := range found {
		switch err := m.followed(d); {
		case errors.Is(err, ErrForked):
			return m, fmt.Errorf("serve: the delta in %s: %w", d.Dir, err)
		case err != nil:
			continue
		}
		if i+1 < len(found) && found[i+1].Delta.Number == d.Delta.Number {
			o := found[i+1]
			return m, fmt.Errorf("serve: the deltas in %s and %s: %w: each is %v, one of generation %q and one of %q",
				d.Dir, o.Dir, ErrForked, d.Delta, d.Generation, o.Generation)
		}
		if m, err = m.WithDelta(d.Dir); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// deltasIn returns the deltas of the model's base in the directories in dir by increasing number, each once.
func (m *Model) deltasIn(dir string) ([]modelfiles.Published, error) {
	found, err := modelfiles.FindPublished(dir, 1)
	if err != nil {
		return nil, fmt.Errorf("serve: deltas: %w", err)
	}
	for _, p := range found {
		if p.Damaged != nil {
			return nil, fmt.Errorf("serve: deltas: %w", p.Damaged)
		}
	}
	found = slices.DeleteFunc(found, func(p modelfiles.Published) bool {
		return p.Delta == nil || p.Delta.Base != m.base()
	})
	slices.SortStableFunc(found, func(a, b modelfiles.Published) int {
		return cmp.Or(cmp.Compare(a.Delta.Number, b.Delta.Number), strings.Compare(a.Sum, b.Sum))
	})
	return slices.CompactFunc(found, func(a, b modelfiles.Published) bool { return a.Sum == b.Sum }), nil
}

// ErrForked says that two deltas of a base do not follow each other: a job that had gone back to a checkpoint saved one
// of them beside what it had saved before, or a second job did. Which rows are right is not known until the next
// base: save it, or remove the deltas of the job that does not train any more.
var ErrForked = errors.New("two jobs have saved deltas of one base")

var errNoBase = errors.New("the model's directory has no model.json, by which a fleet's SaveModel names what a delta " +
	"follows")

// followed returns why a delta does not follow the model, or nil.
func (m *Model) followed(p modelfiles.Published) error {
	d := p.Delta
	switch {
	case m.base() == "":
		return errNoBase
	case d.Base != m.base():
		return fmt.Errorf("it is of base %s, and the model was loaded from base %s", d.Base, m.base())
	case d.Follows == m.version && d.Number == m.deltas()+1:
		return nil
	case d.Number <= m.deltas()+1 && !slices.Contains(m.lineage, p.Sum):
		return fmt.Errorf("%w: it is %v, of generation %q, and the model is at %s after %d deltas, of generation %q",
			ErrForked, d, p.Generation, m.version, m.deltas(), m.generation)
	}
	return fmt.Errorf("it is %v, and the model is at %s after %d deltas: load each delta once, in the order in which "+
		"they were saved", d, m.version, m.deltas())
}
