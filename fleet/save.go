package fleet

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// SavePersistables writes a checkpoint to dir: weights, the rule's state and step counters, as one consistent cut. The servers
// write, each its part, so dir must be a directory that all of them share; it is complete when the call returns, and the one
// that was there before stays until then. Any worker may call it; when several do for the same step, one acts. In a collective job,
// where all workers have the same weights, worker 0 writes when it calls, and the others' calls do nothing.
//
// Frozen dense params, such as the statistics of batch norm, are each worker's own: the checkpoint has those of the worker that
// acts, as its executors have handed them over (see nn.BatchNorm), and all workers of a job that begins from it begin with them.
func (f *Fleet) SavePersistables(ctx context.Context, dir string) error {
	j, err := f.workerCall("SavePersistables")
	if err != nil {
		return err
	}
	if f.IsCollective() && !f.IsFirstWorker() {
		return nil
	}
	c, err := f.joined("SavePersistables")
	if err != nil {
		return err
	}
	if c == nil {
		err = saveLocal(dir, f.local.Store(), j)
	} else if dir, err = filepath.Abs(dir); err == nil {
		err = c.Save(ctx, dir)
	}
	if err != nil {
		return fmt.Errorf("fleet: SavePersistables: %w", err)
	}
	return nil
}

// LoadModel fills tables from a checkpoint that SavePersistables wrote: those of a process that trains alone, those of a worker of a
// collective job, where each worker loads it, before InitWorker, or those of a server, where each server loads it, between
// InitServer and RunServer, as InitServer does with a directory. It comes before the first step. Workers of a cluster
// with servers get the weights by InitWorker, and rows when they touch them; for them it is an error. With params, only those are
// loaded, as by InitServer.
func (f *Fleet) LoadModel(ctx context.Context, dir string, params ...string) error {
	if f.IsServer() {
		return f.loadServer(ctx, dir, params)
	}
	j, err := f.workerCall("LoadModel")
	if err != nil {
		return err
	}
	if len(f.id.Servers) > 0 {
		return fmt.Errorf("fleet: LoadModel: servers load a checkpoint: give %s to InitServer, or have every server call LoadModel before RunServer: %w",
			dir, ErrRole)
	}
	if f.replica != nil && f.replica.Joined() {
		return fmt.Errorf("fleet: LoadModel: call it before InitWorker, on every worker: %w", ErrOrder)
	}
	everything := func(int, uint64) bool { return true }
	if _, err := checkpoint.Load(ctx, dir, f.local.Store(), j.rule.Name(), j.layout.Params, everything, params...); err != nil {
		return fmt.Errorf("fleet: LoadModel: %w", err)
	}
	return nil
}

// loadServer replaces the tables of a server that does not serve yet by those of a checkpoint.
func (f *Fleet) loadServer(ctx context.Context, dir string, params []string) error {
	if _, err := f.serverCall("LoadModel"); err != nil {
		return err
	}
	f.mu.Lock()
	made := f.server != nil
	f.mu.Unlock()
	switch {
	case !made:
		return fmt.Errorf("fleet: LoadModel: call InitServer first: %w", ErrOrder)
	case dir == "":
		return fmt.Errorf("fleet: LoadModel: the directory's name is empty: %w", checkpoint.ErrNone)
	}
	return f.initServer(ctx, "LoadModel", dir, params)
}

func saveLocal(dir string, store *table.Store, j *job) error {
	id := fmt.Sprintf("%d-local", store.Step())
	part, err := checkpoint.WritePart(dir, checkpoint.PartName(id, 0, 1), store)
	if err != nil {
		return err
	}
	m := checkpoint.Manifest{ID: id, Rule: j.rule.Name(), Step: store.Step(), Params: checkpoint.Params(j.layout.Params), Parts: []checkpoint.Part{part}}
	return checkpoint.Commit(dir, m)
}

// SaveInferenceModel writes a model that can be used without a fleet: graph.json, weights.safetensors with the newest
// weights of every dense parameter and every row that was ever trained, and model.json with their checksums. Package nn loads it, and
// Python reads its weights. A model that was in the directory is replaced as a whole: whoever loads it while the new one is written, or
// after a crash at any moment, has the old one or the new one.
func (f *Fleet) SaveInferenceModel(ctx context.Context, dir string, m optimizer.Model) error {
	if _, err := f.workerCall("SaveInferenceModel"); err != nil {
		return err
	}
	src, err := f.source("SaveInferenceModel")
	if err != nil {
		return err
	}
	if err := saveModel(ctx, dir, m, src); err != nil {
		return fmt.Errorf("fleet: SaveInferenceModel: %w", err)
	}
	return nil
}

// source is where the weights of a model come from.
type source interface {
	// dense returns the weights of the dense params, by name.
	dense(ctx context.Context) (map[string][]float32, error)
	// rows returns ids and rows of an embedding, by ascending id.
	rows(ctx context.Context, name string) ([]uint64, []float32, error)
	// each calls do with some ids and their rows after the other, which are valid until it returns.
	each(ctx context.Context, name string, do func(ids []uint64, w []float32) error) error
}

func (f *Fleet) source(call string) (source, error) {
	c, err := f.joined(call)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return localSource{f.local}, nil
	}
	return clusterSource{c, f.job.layout}, nil
}

func saveModel(ctx context.Context, dir string, m optimizer.Model, src source) error {
	s, err := modelfiles.Begin(dir)
	if err != nil {
		return err
	}
	defer s.Abandon()
	if err := s.Write(modelfiles.Graph, m.WriteGraph); err != nil {
		return err
	}
	file, err := weightsOf(ctx, m, src)
	if err != nil {
		return err
	}
	if err := s.Write(modelfiles.Weights, file.write); err != nil {
		return err
	}
	return s.Commit()
}

func weightsOf(ctx context.Context, m optimizer.Model, src source) (*tensorFile, error) {
	dense, err := src.dense(ctx)
	if err != nil {
		return nil, err
	}
	var file tensorFile
	for _, p := range m.Params() {
		if p.Embedding {
			ids, rows, err := src.rows(ctx, p.Name)
			if err != nil {
				return nil, err
			}
			put(&file, p.Name+".ids", []int{len(ids)}, ids)
			put(&file, p.Name, []int{len(ids), p.Dim()}, rows)
			continue
		}
		w, ok := dense[p.Name]
		if !ok {
			w = p.W // frozen: the worker's own
		}
		put(&file, p.Name, p.Shape, w)
	}
	return &file, nil
}

// tensorFile is a safetensors file in the making.
type tensorFile struct {
	tensors []safetensors.Tensor
	puts    []func(w *safetensors.Writer) error
}

// put declares a tensor, and has its data written when its turn comes.
func put[T safetensors.Element](t *tensorFile, name string, shape []int, data []T) {
	t.tensors = append(t.tensors, safetensors.Tensor{Name: name, DType: safetensors.TypeOf[T](), Shape: slices.Clone(shape)})
	t.puts = append(t.puts, func(w *safetensors.Writer) error { return safetensors.Put(w, name, data) })
}

func (t *tensorFile) write(out io.Writer) error {
	w, err := safetensors.NewWriter(out, t.tensors, map[string]string{"format": "gofleet"})
	if err != nil {
		return err
	}
	for _, put := range t.puts {
		if err := put(w); err != nil {
			return err
		}
	}
	return w.Close()
}
