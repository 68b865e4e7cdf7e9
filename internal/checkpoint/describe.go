package checkpoint

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
)

// Description describes a checkpoint or a saved model, from its manifest and the headers of its files.
type Description struct {
	Dir string `json:"dir"`
	// Kind is "checkpoint", "model", or "delta", which is loaded on top of a model.
	Kind string `json:"kind"`
	// Pinned says that the job keeps the checkpoint however many newer ones there are.
	Pinned bool   `json:"pinned,omitempty"`
	ID     string `json:"id,omitempty"`
	// Base is the directory, beside this one, of the checkpoint's base, whose rows belong to the checkpoint too. Params
	// and Parts describe this directory's files only.
	Base string `json:"base,omitempty"`
	// Saved is when it was completed.
	Saved time.Time `json:"saved"`
	Rule  string    `json:"rule,omitempty"`
	// Step is the number of updates. Steps holds, by worker, the last step that is in them.
	Step        int64          `json:"step"`
	Steps       []uint64       `json:"steps,omitempty"`
	RateFactors []table.Factor `json:"rate_factors,omitempty"`
	Progress    *Progress      `json:"progress,omitempty"`
	// Positions holds, by worker, the positions of its threads in their data; epochs count from 0, as in Progress.
	Positions [][]progress.Position `json:"positions,omitempty"`
	// Firsts are, by worker, the epochs in which workers go on.
	Firsts []int `json:"firsts,omitempty"`
	// Version identifies a model or a delta; deltas name what they follow by it, in Delta.
	Version string            `json:"version,omitempty"`
	Delta   *modelfiles.Delta `json:"delta,omitempty"`
	// Signature describes a model's inputs, outputs and format of rows, as it was saved.
	Signature json.RawMessage  `json:"signature,omitempty"`
	Params    []DescribedParam `json:"params"`
	Parts     []DescribedPart  `json:"parts"`
}

// DescribedParam describes a param and its size, summed over all parts.
type DescribedParam struct {
	Param
	// Rows is the number of an embedding's rows, Waiting the number of ids that wait for a row.
	Rows    int64 `json:"rows,omitempty"`
	Waiting int64 `json:"waiting,omitempty"`
	// Bytes is the size of weights, state and the other columns of rows.
	Bytes int64 `json:"bytes"`
}

// DescribedPart describes a file.
type DescribedPart struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Rows  int64  `json:"rows,omitempty"`
}

// Describe describes a checkpoint or a saved model. It does not read weights: [Examine] checks them.
func Describe(dir string) (Description, error) {
	if !hasCheckpoint(dir) && modelfiles.Is(dir) {
		return describeModel(dir)
	}
	m, err := Read(dir)
	if err != nil {
		return Description{}, err
	}
	d := Description{Dir: dir, Kind: "checkpoint", Pinned: Pinned(dir), ID: m.ID, Saved: m.Saved, Rule: m.Rule,
		Step: m.Step, Steps: m.Steps, RateFactors: m.RateFactors, Progress: m.Progress, Positions: m.Positions}
	for w := range m.Positions {
		d.Firsts = append(d.Firsts, m.First(w, len(m.Positions), false))
	}
	if m.Base != nil {
		d.Base = m.Base.Dir
	}
	of := map[string]*DescribedParam{}
	d.Params = make([]DescribedParam, len(m.Params))
	for i, p := range m.Params {
		d.Params[i].Param = p
		of[p.Name] = &d.Params[i]
	}
	for _, p := range m.Parts {
		d.Parts = append(d.Parts, DescribedPart{File: p.File, Bytes: p.Bytes, Rows: p.Rows})
		if err := p.describe(dir, of); err != nil {
			return d, fmt.Errorf("checkpoint: part %s of %s: %w", p.File, dir, err)
		}
	}
	return d, nil
}

// describe adds a part's rows, ids and bytes to each param.
func (p Part) describe(dir string, of map[string]*DescribedParam) error {
	if err := visible(dir, p); err != nil {
		return err
	}
	file, err := files.Open(files.Join(dir, p.File))
	if err != nil {
		return err
	}
	f, c, err := readContents(file)
	if err != nil {
		return err
	}
	defer f.Close()
	add := func(param string, one contents) {
		d := of[param]
		if d == nil {
			return
		}
		for _, t := range one.tensors() {
			info, _ := f.Tensor(t.Name)
			d.Bytes += info.Size
		}
		for _, t := range one.Tables {
			d.Rows, d.Waiting = d.Rows+int64(t.Rows), d.Waiting+int64(t.Waiting)
		}
	}
	for _, b := range c.Blocks {
		add(b.Param, contents{Blocks: []blockInfo{b}})
	}
	for _, t := range c.Tables {
		add(t.Param, contents{Tables: []tableInfo{t}})
	}
	return nil
}

// describeModel describes a saved model from the headers of its files. An embedding has as many rows as ids.
func describeModel(dir string) (Description, error) {
	d := Description{Dir: dir, Kind: "model", Saved: modified(dir, modelfiles.Record)}
	arrays, signature, err := modelfiles.Heads(dir)
	if err == nil {
		d.Version, d.Delta, err = modelfiles.Identity(dir)
	}
	if err != nil {
		return d, fmt.Errorf("checkpoint: %w", err)
	}
	if d.Delta != nil {
		d.Kind = "delta"
	}
	if d.Signature = signature; signature != nil && !json.Valid(signature) {
		return d, fmt.Errorf("checkpoint: model in %s: %s is not JSON: %w", dir, modelfiles.Signature, ErrDamaged)
	}
	parts := map[string]int{}
	for _, a := range arrays {
		i, known := parts[a.File]
		if !known {
			i = len(d.Parts)
			parts[a.File] = i
			d.Parts = append(d.Parts, DescribedPart{File: a.File, Bytes: sizeOf(dir, a.File)})
		}
		param, ids := strings.CutSuffix(a.Name, ".ids")
		last := len(d.Params) - 1
		if ids && last >= 0 && d.Params[last].Name == param { // arrays come by name: an embedding's rows, then its ids
			p, rows := &d.Params[last], a.Bytes/int64(a.DType.Size())
			p.Embedding, p.Rows, p.Bytes = true, p.Rows+rows, p.Bytes+a.Bytes
			d.Parts[i].Rows += rows
			continue
		}
		d.Params = append(d.Params, DescribedParam{Param: Param{Name: a.Name, Shape: a.Shape}, Bytes: a.Bytes})
	}
	return d, nil
}

// modified returns when a file was written; zero if there is none.
func modified(dir, file string) time.Time {
	st, err := files.Stat(files.Join(dir, file))
	if err != nil {
		return time.Time{}
	}
	return st.ModTime().UTC()
}

func sizeOf(dir, file string) int64 {
	st, err := files.Stat(files.Join(dir, file))
	if err != nil {
		return 0
	}
	return st.Size()
}
