package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// Finding is the result of examining a checkpoint or a saved model, with the state of each of its files.
type Finding struct {
	Dir string
	// Model says that the directory holds a saved model, and not a checkpoint.
	Model bool
	// Delta says what a saved model that is a delta follows; nil otherwise.
	Delta *modelfiles.Delta
	// Manifest is the checkpoint's manifest, as far as it could be read.
	Manifest Manifest
	Files    []files.State
	// Err is the error of the directory as a whole; [ErrNone] for a checkpoint that was never completed.
	Err error
}

// Unfinished reports whether a checkpoint is being written, or its job ended before it was complete. The checkpoint
// that it would replace still counts.
func (f Finding) Unfinished() bool { return errors.Is(f.Err, ErrNone) }

// Damage returns all errors of a checkpoint or model that was completed, nil if there are none.
func (f Finding) Damage() error {
	if f.Unfinished() {
		return nil
	}
	all := []error{f.Err}
	for _, file := range f.Files {
		all = append(all, file.Err)
	}
	return errors.Join(all...)
}

// Find returns the directories of checkpoints and saved models in dir, oldest first: dir itself or, if it holds
// neither, the directories in it that do, such as a series'. It returns [ErrNone] if there are none.
func Find(dir string) (all []string, err error) {
	if err := files.Check(dir); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	entries, err := files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: %w%s", err, beside(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if _, is := numberOf(files.Base(dir)); is || hasCheckpoint(dir) || modelfiles.Is(dir) {
		return []string{dir}, nil
	}
	for _, e := range entries {
		below := files.Join(dir, e.Name())
		if _, is := numberOf(e.Name()); is || hasCheckpoint(below) || modelfiles.Is(below) {
			all = append(all, below)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("checkpoint: %s holds neither a checkpoint nor a saved model: %w%s", dir, ErrNone,
			near(dir))
	}
	return all, nil
}

// Examine reads every byte of a checkpoint or a saved model, as loading does, and returns the state of each file. The
// error is that of ctx, if it has ended.
func Examine(ctx context.Context, dir string) (f Finding, err error) {
	f = Finding{Dir: dir}
	if f.Model = !hasCheckpoint(dir) && modelfiles.Is(dir); f.Model {
		f.Files, f.Err = modelfiles.Examine(ctx, dir)
		_, f.Delta, _ = modelfiles.Identity(dir) // f.Err has the error of a record that can't be read
		return f, files.Ended(ctx)
	}
	m, err := Read(dir)
	if f.Manifest, f.Err = m, err; err != nil {
		return f, files.Ended(ctx)
	}
	if st, err := files.Stat(files.Join(dir, manifestName)); err == nil {
		f.Files = append(f.Files, files.State{Name: manifestName, Bytes: st.Size()})
	}
	var parts []contents
	for _, p := range m.Parts {
		c, err := examine(ctx, dir, p)
		f.Files = append(f.Files, files.State{Name: p.File, Bytes: p.Bytes, Err: err})
		if err == nil {
			parts = append(parts, c)
		}
	}
	if len(parts) == len(m.Parts) {
		f.Err = m.covered(parts)
	}
	if f.Err == nil && f.Damage() == nil {
		_, f.Err = wholeChain(dir, m)
	}
	return f.settled(ctx)
}

// settled examines a damaged directory again if a job has replaced or removed the checkpoint meanwhile.
func (f Finding) settled(ctx context.Context) (Finding, error) {
	if err := files.Ended(ctx); err != nil || f.Damage() == nil {
		return f, err
	}
	switch now, err := Read(f.Dir); {
	case errors.Is(err, ErrNone):
		return Finding{Dir: f.Dir, Err: err}, nil
	case err == nil && now.Sum != f.Manifest.Sum:
		return Examine(ctx, f.Dir)
	}
	return f, nil
}

// examine reads a part and compares its arrays with its contents.
func examine(ctx context.Context, dir string, p Part) (contents, error) {
	f, c, err := openPart(ctx, dir, p)
	if err != nil {
		return c, err
	}
	defer f.Close()
	for _, want := range c.tensors() {
		if got, ok := f.Tensor(want.Name); !ok || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
			return c, fmt.Errorf("array %q is %v, its table of contents says %v: %w", want.Name, brief(got.Tensor),
				brief(want), ErrDamaged)
		}
	}
	return c, nil
}

func brief(t safetensors.Tensor) string { return fmt.Sprintf("%s%v", t.DType, t.Shape) }

// covered returns an error if parts lack some of the model's weights or have them twice. No part need have a frozen
// param.
func (m Manifest) covered(parts []contents) error {
	of := map[string]*loading{}
	for _, p := range m.Params {
		if !p.Embedding {
			of[p.Name] = &loading{left: p.elements()}
		}
	}
	for _, c := range parts {
		for _, b := range c.Blocks {
			p, known := of[b.Param]
			if !known {
				return fmt.Errorf("checkpoint: a part has %s, of which the manifest knows nothing: %w", b.weights(),
					ErrDamaged)
			}
			if err := p.claim(span{b.Offset, b.Offset + b.Size}); err != nil {
				return fmt.Errorf("checkpoint: %s: %w", b.Param, err)
			}
		}
	}
	for _, p := range m.Params {
		if l := of[p.Name]; l != nil && l.left != 0 && len(l.have) > 0 {
			return fmt.Errorf("checkpoint: the parts lack %d of the %d weights of %q: %w", l.left, p.elements(), p.Name,
				ErrDamaged)
		}
	}
	return nil
}

// elements returns the number of weights of a dense param.
func (p Param) elements() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}
