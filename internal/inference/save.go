package inference

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/narrow"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/optimizer"
)

// Save writes m into a directory of this machine, with weights of one cut between steps; it streams rows to the file in
// pages. A reader that loads the directory meanwhile, or after a failure, gets the model that was there before.
func Save(ctx context.Context, dir string, m optimizer.Model, from backend.Trainer) error {
	return save(ctx, dir, m, from.Cut)
}

// SaveWeights is Save with the weights w.
func SaveWeights(ctx context.Context, dir string, m optimizer.Model, w backend.Weights) error {
	return save(ctx, dir, m, func(_ context.Context, do func(backend.Weights) error) error { return do(w) })
}

func save(ctx context.Context, dir string, m optimizer.Model,
	cut func(context.Context, func(backend.Weights) error) error) error {
	s, err := modelfiles.Begin(dir)
	if err != nil {
		return err
	}
	defer s.Abandon()
	if err := writeGraph(s, m); err != nil { // before the cut makes workers wait
		return err
	}
	err = cut(ctx, func(w backend.Weights) error {
		return s.Write(modelfiles.Weights, func(out io.Writer) error {
			return writeWeights(ctx, out, m.Params(), withGiven(w, m), nil, narrow.Float32)
		})
	})
	if err == nil {
		err = files.Ended(ctx)
	}
	if err != nil {
		return err
	}
	return s.Commit()
}

// writeGraph writes a model's graph and signature.
func writeGraph(s *modelfiles.Save, m optimizer.Model) error {
	err := s.Write(modelfiles.Graph, m.WriteGraph)
	if signed, ok := m.(interface{ WriteSignature(io.Writer) error }); ok && err == nil {
		err = s.Write(modelfiles.Signature, signed.WriteSignature)
	}
	return err
}

// writeWeights streams the weights of params, and for a delta the ids of dropped rows, by embedding. It asks for the
// number of an embedding's rows before the rows, since the file's header has it.
func writeWeights(ctx context.Context, out io.Writer, params []*optimizer.Param, from backend.Weights,
	gone map[string][]uint64, as narrow.Format) error {
	dense, err := from.Dense(ctx)
	if err != nil {
		return err
	}
	var tensors []safetensors.Tensor
	for _, p := range params {
		if !p.Embedding {
			tensors = append(tensors, safetensors.Tensor{Name: p.Name, DType: safetensors.F32, Shape: p.Shape})
			continue
		}
		n, err := from.Count(ctx, p.Name)
		if err != nil {
			return err
		}
		tensors = append(tensors, safetensors.Tensor{Name: idsName(p), DType: safetensors.U64, Shape: []int{n}},
			safetensors.Tensor{Name: p.Name, DType: dtypes[as], Shape: []int{n, p.Dim()}})
		if as == narrow.Int8 {
			tensors = append(tensors, safetensors.Tensor{Name: p.Name + modelfiles.ScaleSuffix, DType: safetensors.F32,
				Shape: []int{n}})
		}
		if ids := gone[p.Name]; len(ids) > 0 {
			tensors = append(tensors, safetensors.Tensor{Name: p.Name + modelfiles.GoneSuffix, DType: safetensors.U64,
				Shape: []int{len(ids)}})
		}
	}
	w, err := safetensors.NewWriter(out, tensors, map[string]string{"format": "gofleet"})
	if err != nil {
		return err
	}
	for _, p := range params {
		if err := writeParam(ctx, w, p, dense, from, as); err != nil {
			return err
		}
		if ids := gone[p.Name]; len(ids) > 0 {
			if err := safetensors.Put(w, p.Name+modelfiles.GoneSuffix, ids); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// idsName returns the name of the tensor with the ids of an embedding.
func idsName(p *optimizer.Param) string { return p.Name + ".ids" }

func writeParam(ctx context.Context, w *safetensors.Writer, p *optimizer.Param, dense map[string][]float32,
	from backend.Weights, as narrow.Format) error {
	if !p.Embedding {
		values, ok := dense[p.Name]
		switch {
		case !ok && !p.Frozen:
			return backend.NotMinimised(p.Name)
		case !ok:
			values = p.W // a frozen param: the worker's own values
		}
		return safetensors.Put(w, p.Name, values)
	}
	err := from.IDs(ctx, p.Name, func(ids []uint64) error { return safetensors.Put(w, idsName(p), ids) })
	if err != nil {
		return err
	}
	return writeRows(ctx, w, p, from, as)
}

// dtypes are the types of an embedding's numbers in a file.
var dtypes = map[narrow.Format]safetensors.DType{narrow.Float32: safetensors.F32, narrow.Float16: safetensors.F16,
	narrow.Int8: safetensors.I8}

// writeRows writes the rows of an embedding. The scales of 8 bits, 4 bytes a row, follow the rows.
func writeRows(ctx context.Context, w *safetensors.Writer, p *optimizer.Param, from backend.Weights,
	as narrow.Format) error {
	var scales []float32
	err := from.Rows(ctx, p.Name, func(ids []uint64, rows []float32) error {
		if as == narrow.Float32 {
			return safetensors.Put(w, p.Name, rows)
		}
		if err := as.Fits(rows); err != nil {
			return fmt.Errorf("the rows of %q: %w", p.Name, err)
		}
		some := narrow.New(as, p.Dim(), len(ids))
		some.Append(rows)
		_, bytes, its := some.Encoded()
		scales = append(scales, its...)
		return w.Raw(p.Name, bytes)
	})
	if err == nil && as == narrow.Int8 {
		err = safetensors.Put(w, p.Name+modelfiles.ScaleSuffix, scales)
	}
	return err
}
