package fleet

import (
	"context"
	"io"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/optimizer"
)

// SaveInferenceModel writes a model that can be used without a fleet: graph.json, weights.safetensors with the newest
// weights of every dense parameter and every row that was ever trained, by ascending id, and model.json with their checksums. Rows of an
// embedding with a height that have given values ([optimizer.Assign], or an initializer of one's own) are written in any case. Package nn
// loads it, and Python reads its weights; the doc of nn tells how, and how Python makes the values of rows that were never trained.
//
// The model is one cut between steps, the same steps of every worker in all of it, also while others train. This worker writes, into a
// directory of its own machine: dense weights are copied, rows stream from the servers to the file in pages, so that no table has to fit
// into its memory. Pulls go on meanwhile, pushes wait until the last row has come, which is as long as the rows take to travel and
// to be written: save seldom where tables are large, and give the strategy a WaitTimeout that is longer. Without servers, steps of this
// process wait.
//
// A model that was in the directory is replaced as a whole: whoever loads it while the new one is written, or after a crash at any moment,
// has the old one or the new one. A call that fails leaves the old one.
func (f *Fleet) SaveInferenceModel(ctx context.Context, dir string, m optimizer.Model) error {
	j, err := f.worker(ctx, "SaveInferenceModel")
	if err != nil {
		return err
	}
	return named("SaveInferenceModel", saveModel(ctx, dir, m, j.backend))
}

func saveModel(ctx context.Context, dir string, m optimizer.Model, from backend.Trainer) error {
	s, err := modelfiles.Begin(dir)
	if err != nil {
		return err
	}
	defer s.Abandon()
	if err := s.Write(modelfiles.Graph, m.WriteGraph); err != nil { // before anybody waits
		return err
	}
	err = from.Cut(ctx, func(w backend.Weights) error {
		return s.Write(modelfiles.Weights, func(out io.Writer) error { return writeWeights(ctx, out, m.Params(), withGiven(w, m)) })
	})
	if err == nil {
		err = files.Ended(ctx)
	}
	if err != nil {
		return err
	}
	return s.Commit()
}

// writeWeights streams the weights of params. How many rows an embedding has is known before the first of them comes.
func writeWeights(ctx context.Context, out io.Writer, params []*optimizer.Param, from backend.Weights) error {
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
			safetensors.Tensor{Name: p.Name, DType: safetensors.F32, Shape: []int{n, p.Dim()}})
	}
	w, err := safetensors.NewWriter(out, tensors, map[string]string{"format": "gofleet"})
	if err != nil {
		return err
	}
	for _, p := range params {
		if err := writeParam(ctx, w, p, dense, from); err != nil {
			return err
		}
	}
	return w.Close()
}

// idsName is the tensor with the ids of an embedding.
func idsName(p *optimizer.Param) string { return p.Name + ".ids" }

func writeParam(ctx context.Context, w *safetensors.Writer, p *optimizer.Param, dense map[string][]float32, from backend.Weights) error {
	if !p.Embedding {
		values, ok := dense[p.Name]
		if !ok {
			values = p.W // frozen: the worker's own
		}
		return safetensors.Put(w, p.Name, values)
	}
	err := from.IDs(ctx, p.Name, func(ids []uint64) error { return safetensors.Put(w, idsName(p), ids) })
	if err != nil {
		return err
	}
	return from.Rows(ctx, p.Name, func(_ []uint64, rows []float32) error { return safetensors.Put(w, p.Name, rows) })
}
