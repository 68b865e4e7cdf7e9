package inference

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/narrow"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// Saved is the size of a model for serving, or of a delta: rows of embeddings, and bytes of files. Left is how many
// rows the thresholds left out.
type Saved struct {
	Rows, Left int
	Bytes      int64
}

// SaveServing writes the rows of m that serving needs into a directory of this machine, as a model or as a delta of the
// one before. If it fails, the directory keeps its content, as with Save. published is the directory of earlier models,
// by which it checks that a delta follows the newest of them; empty if it is not known. rows is the format of rows.
// What was saved under the name of as is not saved again, and the result is that of the first time. If its directory is
// not whole any more, a model is saved again, and a delta has no base to follow.
func SaveServing(ctx context.Context, dir, published string, m optimizer.Model, how table.Serving, rows string,
	as *progress.Deed, from backend.Trainer) (Saved, error) {
	format := narrow.Format(rows)
	if err := errors.Join(files.Check(published), format.Check()); err != nil {
		return Saved{}, err
	}
	for _, p := range m.Params() {
		if p.Embedding {
			how.Params = append(how.Params, p.Name)
		}
	}
	s := serving{dir: dir, published: published, model: m, delta: how.Delta, rows: format, as: as}
	defer s.abandon()
	if err := s.describe(); err != nil {
		return Saved{}, err
	}
	err := s.once(ctx, how, from)
	if err != nil || !as.Before {
		return s.saved, err
	}
	lost := modelfiles.Whole(ctx, dir)
	switch {
	case lost == nil || ctx.Err() != nil:
		return s.saved, context.Cause(ctx)
	case s.delta:
		return s.saved, fmt.Errorf("%w: %s was saved, and %s is not whole any more (%w)", backend.ErrNoBase, as.Name,
			dir, lost)
	}
	as.Again, as.Before, as.Said = true, false, nil
	err = s.once(ctx, how, from)
	return s.saved, err
}

// serving writes a model or a delta.
type serving struct {
	dir       string
	published string
	model     optimizer.Model
	delta     bool
	rows      narrow.Format
	graph     string // the checksum of the model's graph and signature
	chain     table.Chain
	save      *modelfiles.Save
	saved     Saved
	as        *progress.Deed
}

// once saves the model, or decodes what was said when it was saved before.
func (s *serving) once(ctx context.Context, how table.Serving, from backend.Trainer) error {
	err := from.Serve(ctx, how, s.as, func(w backend.Serving) error { return s.write(ctx, w) },
		func() (table.Chain, error) { return s.commit(ctx) })
	if err == nil && s.as.Before && len(s.as.Said) == 1 {
		err = json.Unmarshal(s.as.Said[0], &s.saved)
	}
	return err
}

// describe computes the checksum of the model's graph and signature.
func (s *serving) describe() (err error) {
	var graph bytes.Buffer
	if err := s.model.WriteGraph(&graph); err != nil {
		return err
	}
	if signed, ok := s.model.(interface{ WriteSignature(io.Writer) error }); ok {
		err = signed.WriteSignature(&graph)
	}
	s.graph = files.SumOf(graph.Bytes())
	return err
}

func (s *serving) abandon() {
	if s.save != nil {
		s.save.Abandon()
	}
}

// write writes the files; a second call begins again.
func (s *serving) write(ctx context.Context, w backend.Serving) (err error) {
	s.abandon()
	if s.chain, err = s.follow(w.Chain); err != nil {
		return err
	}
	if s.save, err = modelfiles.Begin(s.dir); err != nil {
		return err
	}
	s.save.Publish(s.chain.Generation, s.chain.Serial+1)
	s.saved = Saved{Left: w.Left}
	if s.delta {
		return s.writeDelta(ctx, w)
	}
	if err := writeGraph(s.save, s.model); err != nil {
		return err
	}
	return s.weights(ctx, withGiven(w.Weights, s.model), nil)
}

// follow returns the chain that the model follows, with this job's generation and the highest number so far.
func (s *serving) follow(c table.Chain) (table.Chain, error) {
	p, err := find(s.published)
	if err == nil && s.delta && c.Generation == "" {
		err = p.endsWith(c)
	}
	if err != nil {
		return c, err
	}
	if s.delta && c.Model != s.graph {
		return c, fmt.Errorf("the model is not the one of base %s: its params, shapes, outputs, feeds or format are "+
			"others: save a delta of the base's model, or a base of this one", c.Base)
	}
	if c.Generation == "" {
		c.Generation = fmt.Sprintf("%016x", rand.Uint64())
	}
	c.Model, c.Serial = s.graph, max(c.Serial, p.newest())
	return c, nil
}

func (s *serving) writeDelta(ctx context.Context, w backend.Serving) error {
	d := modelfiles.Delta{Base: s.chain.Base, Follows: s.chain.Last, Number: s.chain.Deltas + 1}
	if err := s.save.Follow(d); err != nil {
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
	return s.weights(ctx, givenBack(w.Weights, s.model, gone), gone)
}

// weights writes the file of weights.
func (s *serving) weights(ctx context.Context, w backend.Weights, gone map[string][]uint64) error {
	return s.save.Write(modelfiles.Weights, func(out io.Writer) error {
		return writeWeights(ctx, out, s.model.Params(), counted{w, &s.saved.Rows}, gone, s.rows)
	})
}

// counted adds up the number of embeddings' rows.
type counted struct {
	backend.Weights
	rows *int
}

func (c counted) Count(ctx context.Context, name string) (int, error) {
	n, err := c.Weights.Count(ctx, name)
	*c.rows += n
	return n, err
}

// commit makes the written files the directory's model, and returns the new chain.
func (s *serving) commit(ctx context.Context) (table.Chain, error) {
	if err := files.Ended(ctx); err != nil {
		return table.Chain{}, err
	}
	err := s.save.Commit()
	if s.save.Version() == "" {
		return table.Chain{}, err
	}
	s.saved.Bytes = s.save.Bytes()
	text, _ := json.Marshal(s.saved) // of numbers
	s.as.Said = [][]byte{text}
	return s.chain.Next(s.delta, s.save.Version()), err
}
