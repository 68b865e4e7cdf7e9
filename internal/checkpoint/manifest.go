package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// Manifest describes a complete checkpoint. It is written last.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	// Saved is when the checkpoint was completed.
	Saved time.Time `json:"saved,omitzero"`
	// Rule is the name of the job's update rule. If only some params were saved, and these have one rule, it is that
	// rule.
	Rule string `json:"rule"`
	// Step is the number of updates. If Copies is set, it is the mean number of updates that each worker has made to
	// its copy of the model.
	Step   int64 `json:"step"`
	Copies bool  `json:"copies,omitempty"`
	// RateFactors multiply learning rates, each from an update on; without any the factor is 1.
	RateFactors []table.Factor `json:"rate_factors,omitempty"`
	// Pace is when workers under adaptive local SGD average next; zero in other modes.
	Pace Pace `json:"pace,omitzero"`
	// Steps is the cut: by worker, its last step that is in the weights.
	Steps []uint64 `json:"steps,omitempty"`
	// Progress is the job's position as its program reported it; nil if it reported none.
	Progress *Progress `json:"progress,omitempty"`
	// Positions holds, by worker, the positions of its threads in their data and how many steps they have made, in
	// checkpoints of all params. Epochs count as in Progress.
	Positions [][]progress.Position `json:"positions,omitempty"`
	// Firsts are, by worker, the epochs in which workers go on, if not all go on in Progress.Epoch.
	Firsts []int `json:"firsts,omitempty"`
	// Led are the facts of the job's epochs, in the job's own checkpoints.
	Led []epoch.Record `json:"led,omitempty"`
	// Deeds are what the job has done by name, in the job's own checkpoints.
	Deeds progress.Deeds `json:"deeds,omitempty"`
	// Base is the checkpoint whose rows belong to this one too, except rows in this one's parts; nil for a whole
	// checkpoint.
	Base   *Base   `json:"base,omitempty"`
	Params []Param `json:"params"`
	Parts  []Part  `json:"parts"`
	// Sum is the checksum of the manifest's text without spaces and with an empty checksum.
	Sum string `json:"xxhash64"`
	// Absent names the dense params of a store that load has left as they were.
	Absent []string `json:"-"`
	// Origin describes what was loaded; it is equal on all processes that have loaded the same.
	Origin string `json:"-"`
	// Changed says that load has begun to change the store.
	Changed bool `json:"-"`
	// Counted holds, by worker, the steps of its threads, if load has taken everything.
	Counted [][]progress.Position `json:"-"`
	// at is the version of the manifest's file in a store; empty on a disk.
	at string
}

// Pace is mode.Pace, as JSON.
type Pace struct {
	K    int     `json:"k_steps"`
	LR   float64 `json:"lr"`
	Loss float64 `json:"loss"`
}

// Param is a variable of the model.
type Param struct {
	Name      string `json:"name"`
	Shape     []int  `json:"shape"`
	Embedding bool   `json:"embedding,omitempty"`
	// Rule is the name of the update rule whose state the parts hold; empty for a frozen param.
	Rule string `json:"rule,omitempty"`
}

// Part is one server's file.
type Part struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"xxhash64"`
	Rows  int64  `json:"rows"`
}

const (
	format  = "gofleet-checkpoint"
	version = 5
)

// Holds records in m the job's params, or only the named ones, and their rules.
func (m *Manifest) Holds(rule optimizer.Rule, params []*optimizer.Param, names ...string) {
	m.Rule, m.Params = rule.Name(), Params(params, names...)
	var own []string
	for i := range m.Params {
		p := params[slices.IndexFunc(params, func(p *optimizer.Param) bool { return p.Name == m.Params[i].Name })]
		if r := rules.For(rule, p); r != nil {
			m.Params[i].Rule = r.Name()
			own = append(own, r.Name())
		}
	}
	if own = slices.Compact(own); len(names) > 0 && len(own) == 1 {
		m.Rule = own[0]
	}
}

// suits returns an error if a param that is loaded has another rule in the job than in the checkpoint.
func (m Manifest) suits(rule optimizer.Rule, params []*optimizer.Param, names ...string) error {
	const advice = "set WeightsOnly of RestoreOptions to begin with its weights alone, or give a job of fleet/train " +
		"the model that was " +
		"saved beside it (-load, with another -checkpoint), which is weights alone, or train with the same rule"
	was := map[string]string{}
	for _, p := range m.Params {
		was[p.Name] = p.Rule
	}
	for _, p := range params {
		r := rules.For(rule, p)
		switch {
		case r == nil || !among(names, p.Name) || was[p.Name] == "" || was[p.Name] == r.Name():
		case m.Rule != rule.Name():
			return fmt.Errorf("it holds the state of rule %q, this job trains with %q: %s", m.Rule, rule.Name(), advice)
		default:
			return fmt.Errorf("it holds the state of %q under rule %q, which this job trains with %q: %s",
				p.Name, was[p.Name], r.Name(), advice)
		}
	}
	return nil
}

// has reports whether a file is one of the parts.
func (m Manifest) has(file string) bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.File == file })
}

func visible(dir string, p Part) error {
	st, err := files.Stat(files.Join(dir, p.File))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("checkpoint: part %s was written but is not in %s here: the directory must be shared by "+
			"all servers (a network file system, or all on one machine): %w", p.File, dir, err)
	case err != nil:
		return fmt.Errorf("checkpoint: %w", err)
	case st.Size() != p.Bytes:
		return fmt.Errorf("checkpoint: part %s has %d bytes in %s, %d were written: %w", p.File, st.Size(), dir,
			p.Bytes, ErrDamaged)
	}
	return nil
}

// Discard removes a part that was written for a checkpoint which was then given up. A part that the manifest names
// stays, and so does every part if the manifest can't be read. In a store a part stays until it is old: a store may
// carry out a request long after its client has given up, and so still write the manifest of that checkpoint.
func Discard(dir, file string) error {
	m, err := Read(dir)
	if m.has(file) || err != nil && !errors.Is(err, ErrNone) || files.IsURL(dir) && young(files.Join(dir, file)) {
		return nil
	}
	err = on(context.Background(), dir).Remove(files.Join(dir, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Read returns the manifest of the checkpoint in dir.
func Read(dir string) (Manifest, error) {
	var m Manifest
	if err := files.Check(dir); err != nil {
		return m, fmt.Errorf("checkpoint: %w", err)
	}
	data, at, err := files.ReadVersion(context.Background(), files.Join(dir, manifestName))
	m.at = at
	if errors.Is(err, fs.ErrNotExist) && Pinned(dir) {
		// a process that was removing the checkpoint ended before it put the manifest back
		data, err = files.ReadFile(files.Join(dir, asideName))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("checkpoint: %s has no %s: %w", dir, manifestName, ErrNone)
	case err != nil:
		return m, fmt.Errorf("checkpoint: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("checkpoint: %s of %s: %w: %w", manifestName, dir, ErrDamaged, err)
	}
	if sum := files.SumOfRecord(data, m.Sum); sum != m.Sum || sum == "" {
		return m, fmt.Errorf("checkpoint: %s of %s has checksum %s, its text makes %s: %w", manifestName, dir, m.Sum,
			sum, ErrDamaged)
	}
	if m.Format != format || m.Version != version {
		return m, fmt.Errorf("checkpoint: %s of %s is of format %q version %d, this build reads %q version %d: load "+
			"it with the build of gofleet that saved it: %w", manifestName, dir, m.Format, m.Version, format, version,
			ErrVersion)
	}
	if !ordered(m.RateFactors) {
		return m, fmt.Errorf("checkpoint: %s of %s has factors on rates of %v: they must be positive, each from a "+
			"later update: %w", manifestName, dir, m.RateFactors, ErrDamaged)
	}
	if m.Base != nil {
		if _, is := numberOf(m.Base.Dir); !is {
			return m, fmt.Errorf("checkpoint: %s of %s is based on %q, which is not a series' directory: %w",
				manifestName, dir, m.Base.Dir, ErrDamaged)
		}
	}
	for _, p := range m.Parts {
		if p.File != files.Base(p.File) {
			return m, fmt.Errorf("checkpoint: %s of %s names the part %q, which is not a file of that directory: %w",
				manifestName, dir, p.File, ErrDamaged)
		}
	}
	return m, nil
}

// ordered reports whether factors are positive and each from a later update.
func ordered(all []table.Factor) bool {
	for i, f := range all {
		if !(f.By > 0) || i > 0 && f.From <= all[i-1].From {
			return false
		}
	}
	return true
}

// Fits returns an error that names a difference between the params of the checkpoint and of a model. Their order does
// not matter. With names, only the params of these names are compared, and both must have them.
func (m Manifest) Fits(params []*optimizer.Param, names ...string) error {
	saved := map[string]Param{}
	for _, p := range m.Params {
		saved[p.Name] = p
	}
	wanted, err := named(Params(params), names)
	if err != nil {
		return err
	}
	for _, want := range wanted {
		switch got, ok := saved[want.Name]; {
		case !ok:
			return fmt.Errorf("it has no param %q: %w", want.Name, ErrOtherModel)
		case got.Embedding != want.Embedding || !slices.Equal(got.Shape, want.Shape):
			return fmt.Errorf("its param %q is %s, this model's is %s: %w", want.Name, got, want, ErrOtherModel)
		}
		delete(saved, want.Name)
	}
	for _, p := range m.Params {
		if _, left := saved[p.Name]; left && len(names) == 0 {
			return fmt.Errorf("its param %q is not in this model: %w", p.Name, ErrOtherModel)
		}
	}
	return nil
}

// named returns the params of these names, all if there are none.
func named(params []Param, names []string) ([]Param, error) {
	if len(names) == 0 {
		return params, nil
	}
	var some []Param
	for _, name := range names {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("param %q is named, which this model has not: %w", name, ErrOtherModel)
		}
		some = append(some, params[i])
	}
	return some, nil
}

func (p Param) String() string {
	if p.Embedding {
		return fmt.Sprintf("an embedding of shape %v", p.Shape)
	}
	return fmt.Sprintf("dense, of shape %v", p.Shape)
}

// Params describes a model's params, or only the named ones, for a manifest.
func Params(params []*optimizer.Param, names ...string) []Param {
	var all []Param
	for _, p := range params {
		if among(names, p.Name) {
			all = append(all, Param{Name: p.Name, Shape: p.Shape, Embedding: p.Embedding})
		}
	}
	return all
}

// CheckParams returns an error if the model lacks a param of one of the names.
func CheckParams(params []*optimizer.Param, names ...string) error {
	_, err := named(Params(params), names)
	return err
}

// First is the epoch in which one of so many workers goes on; alike says that all must go on in the same. If their
// shares of the data are not those of the checkpoint, all begin the earliest epoch anew.
func (m *Manifest) First(worker, workers int, alike bool) int {
	switch {
	case m.Progress == nil:
		return 0
	case len(m.Firsts) == 0:
		return m.Progress.Epoch
	case alike || len(m.Firsts) != workers:
		return slices.Min(m.Firsts)
	}
	return m.Firsts[worker]
}

// Base identifies the checkpoint of the same series that another is based on.
type Base struct {
	// Dir is the name of its directory, beside that of the other.
	Dir string `json:"dir"`
	ID  string `json:"id"`
	// Sum is the checksum of its manifest, which has the checksums of its parts.
	Sum string `json:"xxhash64"`
}

// Progress is the position of a job at a checkpoint, as its program reported it.
type Progress struct {
	// Epoch is the epoch that was under way, from 0.
	Epoch int `json:"epoch"`
	// User is the program's own data for when the job resumes.
	User []byte `json:"user,omitempty"`
	// Meetings is the number of meetings of workers that had changed frozen values: in positions, those from before the
	// last one don't count.
	Meetings int `json:"meetings,omitempty"`
}
