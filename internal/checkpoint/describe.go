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

// Description is what a checkpoint or a saved model holds, by its manifest and the heads of its files.
type Description struct {
	Dir string `json:"dir"`
	// Kind is "checkpoint", "model", or "delta", which is read over a model.
	Kind string `json:"kind"`
	// Pinned says that it stays though newer ones are there.
	Pinned bool   `json:"pinned,omitempty"`
	ID     string `json:"id,omitempty"`
	// Base is the directory beside this one whose rows are in the checkpoint too; Params and Parts are of its own
	// files.
	Base string `json:"base,omitempty"`
	// Saved is when it became whole.
	Saved time.Time `json:"saved"`
	Rule  string    `json:"rule,omitempty"`
	// Step is the number of updates, Steps the last step of each worker that is in them.
	Step        int64          `json:"step"`
	Steps       []uint64       `json:"steps,omitempty"`
	RateFactors []table.Factor `json:"rate_factors,omitempty"`
	Progress    *Progress      `json:"progress,omitempty"`
	// Positions are how far each worker's threads were in their data, by worker; epochs count from 0, as that of
	// Progress does.
	Positions [][]progress.Position `json:"positions,omitempty"`
	// Version is a model's or a delta's, by which deltas name it; Delta says what a delta follows.
	Version string            `json:"version,omitempty"`
	Delta   *modelfiles.Delta `json:"delta,omitempty"`
	// Signature is what a model is fed and computes, and the format of its rows, as it was saved.
	Signature json.RawMessage  `json:"signature,omitempty"`
	Params    []DescribedParam `json:"params"`
	Parts     []DescribedPart  `json:"parts"`
}

// DescribedParam is a param and the room that it takes, all parts together.
type DescribedParam struct {
	Param
	// Rows are an embedding's, Waiting the ids that have yet to earn theirs.
	Rows    int64 `json:"rows,omitempty"`
	Waiting int64 `json:"waiting,omitempty"`
	// Bytes are what weights, state and what is known of rows take.
	Bytes int64 `json:"bytes"`
}

// DescribedPart is a file.
type DescribedPart struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Rows  int64  `json:"rows,omitempty"`
}

// Describe reads what a directory holds, a checkpoint or a saved model. Weights are not looked at: [Examine] says
// whether they are whole.
func Describe(dir string) (Description, error) {
	if !hasCheckpoint(dir) && modelfiles.Is(dir) {
		return describeModel(dir)
	}
	m, err := Read(dir)
	if err != nil {
		return Description{}, err
	}
	d := Description{Dir: dir, Kind: "checkpoint", Pinned: Pinned(dir), ID: m.ID, Saved: m.Saved, Rule: m.Rule,
		Step:  m.Step,
		Steps: m.Steps, RateFactors: m.RateFactors, Progress: m.Progress, Positions: m.Positions}
	if m.Base != nil {
		d.Base = m.Base.Dir
	}
	if d.Saved.IsZero() {
		d.Saved = modified(dir, manifestName)
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

// describe adds what a part has of each param.
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

// describeModel reads the heads of a saved model's files. Rows of an embedding are as many as its ids.
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
		return d, fmt.Errorf("checkpoint: model in %s: %s is no JSON: %w", dir, modelfiles.Signature, ErrDamaged)
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
		if ids && last >= 0 && d.Params[last].Name == param { // arrays come by name: an embedding's ids behind its rows
			p, rows := &d.Params[last], a.Bytes/int64(a.DType.Size())
			p.Embedding, p.Rows, p.Bytes = true, p.Rows+rows, p.Bytes+a.Bytes
			d.Parts[i].Rows += rows
			continue
		}
		d.Params = append(d.Params, DescribedParam{Param: Param{Name: a.Name, Shape: a.Shape}, Bytes: a.Bytes})
	}
	return d, nil
}

// modified is when a file was written; zero where there is none.
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
