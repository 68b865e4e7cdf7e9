package inference

import (
	"context"
	"io"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// SaveServing writes the rows of m that serving needs into a directory of this machine, as a model or as a delta of the one before. Like
// Save it leaves what was there if it fails.
func SaveServing(ctx context.Context, dir string, m optimizer.Model, how table.Serving, from backend.Trainer) error {
	for _, p := range m.Params() {
		if p.Embedding {
			how.Params = append(how.Params, p.Name)
		}
	}
	s := serving{dir: dir, model: m, delta: how.Delta}
	defer s.abandon()
	return from.Serve(ctx, how, func(w backend.Serving) error { return s.write(ctx, w) }, func() (string, error) { return s.commit(ctx) })
}

// serving is a model, or a delta, that is being written.
type serving struct {
	dir   string
	model optimizer.Model
	delta bool
	save  *modelfiles.Save
}

func (s *serving) abandon() {
	if s.save != nil {
		s.save.Abandon()
	}
}

// write writes the files, anew if it is called again.
func (s *serving) write(ctx context.Context, w backend.Serving) (err error) {
	s.abandon()
	if s.save, err = modelfiles.Begin(s.dir); err != nil {
		return err
	}
	if s.delta {
		return s.writeDelta(ctx, w)
	}
	if err := writeGraph(s.save, s.model); err != nil {
		return err
	}
	return s.save.Write(modelfiles.Weights, func(out io.Writer) error {
		return writeWeights(ctx, out, s.model.Params(), withGiven(w, s.model), nil)
	})
}

func (s *serving) writeDelta(ctx context.Context, w backend.Serving) error {
	c := w.Chain()
	if err := s.save.Follow(modelfiles.Delta{Base: c.Base, Follows: c.Last, Number: c.Deltas + 1}); err != nil {
		return err
	}
	gone := map[string][]uint64{}
	for _, p := range s.model.Params() {
		if !p.Embedding {
			continue
		}
		err := w.Gone(ctx, p.Name, func(ids []uint64) error { gone[p.Name] = append(gone[p.Name], ids...); return nil })
		if err != nil {
			return err
		}
	}
	back := givenBack(w, s.model, gone)
	return s.save.Write(modelfiles.Weights, func(out io.Writer) error { return writeWeights(ctx, out, s.model.Params(), back, gone) })
}

// commit makes what was written the directory's model.
func (s *serving) commit(ctx context.Context) (name string, err error) {
	if err := files.Ended(ctx); err != nil {
		return "", err
	}
	err = s.save.Commit()
	return s.save.Version(), err
}
