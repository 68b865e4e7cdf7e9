package weights

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/gofleet/gofleet/internal/inference"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// Source is the source of a model's weights. Arrays and Rows take precedence over File.
type Source struct {
	// File has dense weights and embeddings, by the names of the model's params; nil means none. Other arrays, such as
	// the state of an optimizer, are ignored.
	File *File
	// Names maps names of params to names in the file, where they differ.
	Names map[string]string
	// Arrays are dense weights in memory, by the params' names.
	Arrays map[string]Array
	// Rows are rows of embeddings, by the params' names.
	Rows map[string]iter.Seq2[Row, error]
}

// SaveModel writes the directory of a saved model from a graph and weights from elsewhere, such as another program; the
// result is like that of a fleet's SaveInferenceModel after training. serve.Load and a Scorer serve it. A job begins
// from it by Restore, on every role, where each server reads the rows that it owns; RestoreOptions.Params restores only
// some embeddings. m is nn.Inference of the outputs.
//
//	paddle, err := weights.Open(ctx, "paddle.npz")        // numpy.savez("paddle.npz", **{name: p.numpy() for name, p in …})
//	defer paddle.Close()
//	err = weights.SaveModel(ctx, "model", nn.Inference(pred), weights.Source{
//		File:  paddle,
//		Names: map[string]string{"SparseFeatFactors": "embedding_0.w_0"}, // fc_0.w_0 and so on are called the same
//	})
//
// Each param of the model needs weights of exactly its shape: nothing is transposed, cut or padded. For an embedding
// without a height, or with ids in the file, any rows may be present; a file without ids has all rows from id 0 on.
// Numbers that are not finite are refused.
//
// Rows go through a temporary file (see os.TempDir), so that only their ids have to fit into memory. An existing model
// in the directory is replaced atomically, and kept if the call fails.
func SaveModel(ctx context.Context, dir string, m optimizer.Model, from Source) error {
	err := saveModel(ctx, dir, m, from)
	if err != nil {
		return fmt.Errorf("weights: SaveModel: %w", err)
	}
	return nil
}

func saveModel(ctx context.Context, dir string, m optimizer.Model, from Source) error {
	if err := from.check(m.Params()); err != nil {
		return err
	}
	g := gathered{dense: map[string][]float32{}, tables: map[string]*spool{}}
	defer g.close()
	for _, p := range m.Params() {
		if err := g.fetch(ctx, p, from); err != nil {
			return err
		}
	}
	return inference.SaveWeights(ctx, dir, m, g)
}

// check returns an error for sources that would be ignored by mistake.
func (s Source) check(params []*optimizer.Param) error {
	var all []string
	for _, p := range params {
		all = append(all, p.Name)
		if _, has := s.Arrays[p.Name]; has && p.Embedding {
			return fmt.Errorf("%q is an embedding, and comes as Rows, not as one of Arrays", p.Name)
		}
		if s.Rows[p.Name] != nil && !p.Embedding {
			return fmt.Errorf("%q is dense, and comes as one of Arrays, not as Rows", p.Name)
		}
	}
	if len(s.Names) > 0 && s.File == nil {
		return errors.New("Names are set without a File")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Names)) {
		if !slices.Contains(all, name) {
			return fmt.Errorf("Names has the model's name before the file's, and the model has no %q: it has %q", name,
				all)
		}
	}
	for _, name := range append(slices.Sorted(maps.Keys(s.Arrays)), slices.Sorted(maps.Keys(s.Rows))...) {
		if !slices.Contains(all, name) {
			return fmt.Errorf("the model has no %q: it has %q", name, all)
		}
	}
	return nil
}

// gathered is the weights of a model, as a cut.
type gathered struct {
	dense  map[string][]float32
	tables map[string]*spool
}

func (g gathered) close() {
	for _, s := range g.tables {
		s.close()
	}
}

// fetch reads the weights of a param.
func (g gathered) fetch(ctx context.Context, p *optimizer.Param, from Source) (err error) {
	if p.Embedding {
		rows, err := from.rows(p)
		if err == nil {
			g.tables[p.Name], err = keep(fitting(ctx, p, rows))
		}
		if err != nil {
			delete(g.tables, p.Name)
			return fmt.Errorf("embedding %q: %w", p.Name, err)
		}
		return nil
	}
	a, err := from.array(p)
	if err == nil {
		err = fits(p, a)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", p.Name, err)
	}
	g.dense[p.Name] = a.Values
	return nil
}

// name returns the name of a param in the file.
func (s Source) name(p *optimizer.Param) (string, error) {
	if s.File == nil {
		return "", errors.New("its weights are neither in hand nor in a File")
	}
	name := p.Name
	if other, ok := s.Names[name]; ok {
		name = other
	}
	if _, has := s.File.in.shape(name); !has {
		return "", fmt.Errorf("%s: %w; Names may say what it is called there", s.File.name,
			missing(name, s.File.in.names()))
	}
	return name, nil
}

func (s Source) array(p *optimizer.Param) (Array, error) {
	if a, ok := s.Arrays[p.Name]; ok {
		return a, nil
	}
	name, err := s.name(p)
	if err != nil {
		return Array{}, err
	}
	if shape, _ := s.File.in.shape(name); shape != nil {
		if err := sameShape(p, shape); err != nil { // before all of it is read
			return Array{}, err
		}
	}
	return s.File.Array(name)
}

func (s Source) rows(p *optimizer.Param) (iter.Seq2[Row, error], error) {
	if rows := s.Rows[p.Name]; rows != nil {
		return rows, nil
	}
	name, err := s.name(p)
	if err != nil {
		return nil, err
	}
	shape, _ := s.File.in.shape(name)
	if _, ids := s.File.in.shape(name + idsSuffix); !ids && shape != nil && p.Height() > 0 {
		err = sameShape(p, shape)
	}
	return s.File.Rows(name), err
}

// sameShape returns an error if a shape differs from a param's.
func sameShape(p *optimizer.Param, shape []int) error {
	if slices.Equal(shape, p.Shape) {
		return nil
	}
	advice := ""
	if turned := slices.Clone(shape); len(shape) == 2 {
		if slices.Reverse(turned); slices.Equal(turned, p.Shape) {
			advice = ", which is its transpose: transpose it where it is saved"
		}
	}
	return fmt.Errorf("the model's shape is %v, and the weights have %v%s", p.Shape, shape, advice)
}

// fits returns what is wrong with the weights of a dense param, or nil.
func fits(p *optimizer.Param, a Array) error {
	if err := sameShape(p, a.Shape); err != nil {
		return err
	}
	if len(a.Values) != p.Size() {
		return fmt.Errorf("%d numbers for the shape %v", len(a.Values), a.Shape)
	}
	if i := kernels.FirstNotFinite(a.Values); i >= 0 {
		return fmt.Errorf("number %d is %v", i, a.Values[i])
	}
	return nil
}

// fitting iterates over the rows of an embedding and checks them.
func fitting(ctx context.Context, p *optimizer.Param, rows iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		n := 0
		for r, err := range rows {
			if n++; err == nil && n%1024 == 0 {
				err = ctx.Err()
			}
			if err == nil {
				err = rowFits(p, r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func rowFits(p *optimizer.Param, r Row) error {
	if len(r.W) != p.Dim() {
		return fmt.Errorf("the row of id %d has %d numbers, the model's have %d", r.ID, len(r.W), p.Dim())
	}
	if h := p.Height(); h > 0 && r.ID >= uint64(h) {
		return fmt.Errorf("id %d is not below the height %d", r.ID, h)
	}
	if i := kernels.FirstNotFinite(r.W); i >= 0 {
		return fmt.Errorf("number %d of the row of id %d is %v", i, r.ID, r.W[i])
	}
	return nil
}

// Dense implements the weights of a cut, as Count, IDs and Rows do.
func (g gathered) Dense(context.Context) (map[string][]float32, error) { return g.dense, nil }

func (g gathered) Count(_ context.Context, name string) (int, error) {
	return len(g.tables[name].ids), nil
}

func (g gathered) IDs(ctx context.Context, name string, do func(ids []uint64) error) error {
	s := g.tables[name]
	page := make([]uint64, 0, 1024)
	for i := range s.ids {
		if page = append(page, s.id(i)); len(page) == cap(page) || i == len(s.ids)-1 {
			if err := errors.Join(ctx.Err(), do(page)); err != nil {
				return err
			}
			page = page[:0]
		}
	}
	return nil
}

func (g gathered) Rows(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error {
	var w []float32
	return g.tables[name].pages(func(ids []uint64, rows []byte) error {
		w = slices.Grow(w[:0], len(rows)/4)[:len(rows)/4]
		_, err := binary.Decode(rows, binary.LittleEndian, w)
		return errors.Join(err, ctx.Err(), do(ids, w))
	})
}
