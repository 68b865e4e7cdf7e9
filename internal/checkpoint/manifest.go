package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// Manifest describes a whole checkpoint. It is written last.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	// Saved is when it became whole; zero where an earlier version wrote it.
	Saved time.Time `json:"saved,omitzero"`
	// Rule is the update rule of the job, by name; where some params were saved alone that have another, theirs.
	Rule string `json:"rule"`
	// Step is the number of updates made: where Copies is set, by each worker of its copy of the model, on average.
	Step   int64 `json:"step"`
	Copies bool  `json:"copies,omitempty"`
	// RateFactors multiply learning rates, each from an update on; none is 1.
	RateFactors []table.Factor `json:"rate_factors,omitempty"`
	// Pace is when workers with adaptive local SGD meet next; zero elsewhere.
	Pace Pace `json:"pace,omitzero"`
	// Steps is the cut: the last step of each worker that is in the weights.
	Steps []uint64 `json:"steps,omitempty"`
	// Progress is how far the job was, as its program said; nil where it said nothing.
	Progress *Progress `json:"progress,omitempty"`
	// Positions are how far each worker's threads were in their data, by worker, and how many steps they had made, in
	// checkpoints of all params. Their epochs count as the Progress' does.
	Positions [][]progress.Position `json:"positions,omitempty"`
	// Base is the checkpoint whose rows are in this one too, but for rows that the parts have; nil of a whole one.
	Base   *Base   `json:"base,omitempty"`
	Params []Param `json:"params"`
	Parts  []Part  `json:"parts"`
	// Sum is the checksum of the manifest as it is written without its spaces, and with an empty checksum.
	Sum string `json:"xxhash64"`
	// Absent are the dense params of a store that Load has left as they were.
	Absent []string `json:"-"`
	// Origin says in words what was loaded: it is the same for all who have loaded the same.
	Origin string `json:"-"`
	// Changed says that Load has begun to change the store.
	Changed bool `json:"-"`
	// Counted are the steps that each worker's threads had made, where Load has taken everything.
	Counted [][]progress.Position `json:"-"`
	// OneRule says that Load has taken state without knowing of which rule that of each param is: earlier versions
	// wrote the job's alone.
	OneRule bool `json:"-"`
	// uncounted says that Load has taken everything, and the steps had not been counted.
	uncounted bool
	// at is the version of the file in a store; empty on a disk.
	at string
}

// Pace is mode.Pace.
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
	// Rule is the update rule, by name, whose state the parts hold; empty of a frozen param, and of all that earlier
	// versions wrote.
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
	format       = "gofleet-checkpoint"
	version      = 1
	basedVersion = 2 // of one with a base, which builds that don't know of bases refuse
)

// Holds has m name the params of a job, or the named ones alone, with their rules.
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

// suits says for which of the params that are to be loaded a job has another rule than the one whose state is there, or
// nil. Of a manifest that doesn't name the rules of params it compares the job's.
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
		case r == nil || !among(names, p.Name):
		case m.namesRules() && (was[p.Name] == "" || was[p.Name] == r.Name()):
		case m.Rule != rule.Name():
			return fmt.Errorf("it holds the state of rule %q, this job trains with %q: %s", m.Rule, rule.Name(), advice)
		case m.namesRules():
			return fmt.Errorf("it holds the state of %q under rule %q, which this job trains with %q: %s",
				p.Name, was[p.Name], r.Name(), advice)
		}
	}
	return nil
}

// namesRules says whether m has the rules of params.
func (m Manifest) namesRules() bool {
	return slices.ContainsFunc(m.Params, func(p Param) bool { return p.Rule != "" })
}

// Tell logs what could not be known of a checkpoint that was loaded.
func (m Manifest) Tell(log *slog.Logger) {
	if m.OneRule {
		log.Info("the checkpoint is of an earlier version, which did not write which rule each param had: what it "+
			"holds is taken as the state of the rules that they have now", "loaded", m.Origin, "rule", m.Rule)
	}
	if m.uncounted {
		log.Info("the checkpoint is of an earlier version, which did not write how many steps each worker had made: "+
			"Dropout draws again what it drew in the first of them", "loaded", m.Origin)
	}
}

// has says whether a file is one of the parts.
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

// Discard removes a part that was written for a checkpoint which was then given up. One that the manifest names stays,
// and so does everything beside a manifest that can't be read. In a store a part stays until it is old: it may do what
// it was asked to long after it was waited for, and make the manifest that of the checkpoint which was given up.
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
		// who was about to remove it ended before it was put back
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
	if m.Format != format || m.Version != version && m.Version != basedVersion ||
		(m.Base != nil) != (m.Version == basedVersion) {
		return m, fmt.Errorf("checkpoint: %s of %s is of format %q version %d, this build reads %q version %d: %w",
			manifestName, dir, m.Format, m.Version, format, version, ErrDamaged)
	}
	if sum := files.SumOfRecord(data, m.Sum); sum != m.Sum || sum == "" {
		return m, fmt.Errorf("checkpoint: %s of %s has checksum %s, its text makes %s: %w", manifestName, dir, m.Sum,
			sum, ErrDamaged)
	}
	if !ordered(m.RateFactors) {
		return m, fmt.Errorf("checkpoint: %s of %s has factors on rates of %v: they must be positive, each from a "+
			"later update: %w", manifestName, dir, m.RateFactors, ErrDamaged)
	}
	if m.Base != nil {
		if _, is := numberOf(m.Base.Dir); !is {
			return m, fmt.Errorf("checkpoint: %s of %s is based on %q, which is no directory of a series: %w",
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

// ordered reports whether factors can be a store's.
func ordered(all []table.Factor) bool {
	for i, f := range all {
		if !(f.By > 0) || i > 0 && f.From <= all[i-1].From {
			return false
		}
	}
	return true
}

// Fits says where the checkpoint's params and a model's differ, or nil. Their order does not matter. With names, only
// the params of these names are compared, and both must have them.
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

// named are the params of the names, all if there are none.
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

// Params describes a model's params for a manifest, or the named ones alone.
func Params(params []*optimizer.Param, names ...string) []Param {
	var all []Param
	for _, p := range params {
		if among(names, p.Name) {
			all = append(all, Param{Name: p.Name, Shape: p.Shape, Embedding: p.Embedding})
		}
	}
	return all
}

// CheckParams refuses names of which the model has no param.
func CheckParams(params []*optimizer.Param, names ...string) error {
	_, err := named(Params(params), names)
	return err
}

// Base names the checkpoint of the same series that another is based on.
type Base struct {
	// Dir is the name of its directory, beside the other's.
	Dir string `json:"dir"`
	ID  string `json:"id"`
	// Sum is that of its manifest, and so of all that it has.
	Sum string `json:"xxhash64"`
}

// Progress is how far a job was when a checkpoint was made, as its program said.
type Progress struct {
	// Epoch is the one that was under way, from 0.
	Epoch int `json:"epoch"`
	// User is what else the program wants to know when it goes on.
	User []byte `json:"user,omitempty"`
}
