package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// ruled is a job of a vector and two tables under a rule, which begins from a directory in one of three ways.
type ruled struct {
	servers int
	how     string
	dir     string
	options fleet.RestoreOptions
	rule    optimizer.Rule
	log     *trial.Log
}

// run trains steps [from, to), saves where it is told to, and returns all weights.
func (x ruled) run(t *testing.T, from, to int, save func(context.Context, *fleet.Fleet) error) (all weightsByRow, err error) {
	cluster := trial.Cluster(x.servers, 1)
	if x.log == nil {
		x.log = new(trial.Log)
	}
	cluster.Options.Logger = x.log.Logger()
	var errs map[string]error
	synctest.Test(t, func(t *testing.T) { errs = cluster.Errors(t, x.program(from, to, save, &all)) })
	return all, errors.Join(slices.Collect(maps.Values(errs))...)
}

// program is every role's.
func (x ruled) program(from, to int, save func(context.Context, *fleet.Fleet) error, all *weightsByRow) fleettest.Program {
	return func(ctx context.Context, f *fleet.Fleet) error {
		first := optimizer.Uniform{Low: -1, High: 1}
		m := &trial.Pulled{Objective: trial.Objective{List: []*optimizer.Param{trial.Dense("w", first, 6),
			trial.Embedding("e", first, 0, 2), trial.Embedding("other", first, 0, 2)}}}
		if err := trial.Minimize(f, m, x.rule, strategy.Sync()); err != nil {
			return err
		}
		begin, load := "", x.how == "LoadModel" && x.dir != ""
		switch {
		case x.dir == "":
		case x.how == "InitServer" && x.servers > 0:
			begin = x.dir
		case !load:
			if err := f.Restore(ctx, x.dir, x.options); err != nil {
				return err
			}
		}
		return trial.Begin(ctx, f, begin, func() (err error) {
			if load {
				if err := f.LoadModel(ctx, x.dir, x.options.Params...); err != nil {
					return err
				}
			}
			err = m.InSession(ctx, func(s optimizer.Session) error {
				for i := from; i < to; i++ {
					b := trial.Batch{X: float32(i), Samples: 1, IDs: [][]uint64{{1, 2}, {3}}}
					st := m.Step(b, nil)
					if err := s.Begin(ctx, st); err != nil {
						return err
					}
					if err := m.Gradients(st, b.X); err != nil {
						return err
					}
					if err := s.End(ctx, st); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil && save != nil {
				err = save(ctx, f)
			}
			if err == nil {
				*all, err = valuesOf(ctx, f, m)
			}
			return err
		})
	}
}

// saved is the directory of a checkpoint of a job of three steps, of these params.
func (x ruled) saved(t *testing.T, params ...string) string {
	dir := filepath.Join(t.TempDir(), "saved")
	_, err := x.run(t, 0, 3, func(ctx context.Context, f *fleet.Fleet) error { return f.SavePersistables(ctx, dir, params...) })
	law.Check(t, err)
	return dir
}

// eBy is a rule for all but e, which has its own.
func eBy(rule, e optimizer.Rule) optimizer.Rule {
	return optimizer.PerParam{Rule: rule, By: map[string]optimizer.Rule{"e": e}}
}

// TestAParamsStateIsItsRules: a checkpoint's state goes to the rule that made it, param by param, or it is refused,
// whoever reads it and how.
//
// Promise: [G6] state goes to the rule that made it, param by param, or is refused; a table that is saved alone goes
// on under its own rule
// Also: TestATableOfItsOwnRule
func TestAParamsStateIsItsRules(t *testing.T) {
	t.Parallel()
	momentum, adagrad, adam := optimizer.Momentum{LR: 0.1}, optimizer.Adagrad{LR: 0.1}, optimizer.Adam{LR: 0.1}
	for name, x := range trial.SomeOf(t, map[string]struct {
		was, is optimizer.Rule
		refused string
	}{
		"the same":                 {eBy(momentum, adagrad), eBy(momentum, adagrad), ""},
		"the same, said otherwise": {eBy(momentum, momentum), momentum, ""},
		"the same, clipped":        {eBy(momentum, adagrad), optimizer.ClipByGlobalNorm{Rule: eBy(momentum, adagrad), Norm: 9}, ""},
		"added":                    {momentum, eBy(momentum, adagrad), `of "e" under rule "momentum", which this job trains with "adagrad"`},
		"left out":                 {eBy(momentum, adagrad), momentum, `of "e" under rule "adagrad", which this job trains with "momentum"`},
		"another":                  {eBy(momentum, adam), eBy(momentum, optimizer.Ftrl{LR: 0.1}), `under rule "adam", which this job trains with "ftrl"`},
		"all but e":                {eBy(momentum, adagrad), adagrad, `holds the state of rule "momentum", this job trains with "adagrad"`},
		"all":                      {momentum, adagrad, `holds the state of rule "momentum", this job trains with "adagrad"`},
	}) {
		for _, servers := range []int{0, 2} {
			dir := ruled{servers: servers, rule: x.was}.saved(t)
			for _, how := range []string{"Restore", "InitServer", "LoadModel"} {
				t.Run(fmt.Sprintf("%s, %d servers, %s", name, servers, how), func(t *testing.T) {
					_, err := ruled{servers: servers, how: how, dir: dir, rule: x.is}.run(t, 3, 5, nil)
					switch {
					case x.refused == "" && err != nil:
						t.Error(err)
					case x.refused != "" && (err == nil || !strings.Contains(err.Error(), x.refused) || !strings.Contains(err.Error(), "WeightsOnly")):
						t.Errorf("got %v, want %q, and what to do", err, x.refused)
					}
				})
			}
			if x.refused != "" {
				_, err := ruled{servers: servers, how: "Restore", dir: dir, rule: x.is, options: fleet.RestoreOptions{WeightsOnly: true}}.run(t, 3, 5, nil)
				if err != nil {
					t.Errorf("%s: weights only: %v", name, err)
				}
			}
		}
	}
}

// TestATableOfItsOwnRule: a table that is saved alone goes on under the rule that was its own, in a job that has that
// rule for all, and no other takes its state.
func TestATableOfItsOwnRule(t *testing.T) {
	t.Parallel()
	adagrad, adam := optimizer.Adagrad{LR: 0.1}, optimizer.Adam{LR: 0.1}
	for _, servers := range []int{0, 2} {
		was := ruled{servers: servers, rule: eBy(adam, adagrad)}
		want, err := was.run(t, 0, 5, nil)
		law.Check(t, err)
		dir := was.saved(t, "e")
		if rule := trial.Manifest(t, dir).Rule; rule != "adagrad" {
			t.Errorf("the manifest names rule %q, want adagrad", rule)
		}
		only := fleet.RestoreOptions{Params: []string{"e"}}
		for name, rule := range map[string]optimizer.Rule{"for all": adagrad, "of its own": eBy(adam, adagrad)} {
			got, err := ruled{servers: servers, how: "Restore", dir: dir, rule: rule, options: only}.run(t, 3, 5, nil)
			if err == nil {
				err = got.differs(want, "e")
			}
			if err != nil {
				t.Errorf("%d servers, adagrad %s: %v", servers, name, err)
			}
		}
		_, err = ruled{servers: servers, how: "Restore", dir: dir, rule: adam, options: only}.run(t, 3, 5, nil)
		if err == nil || !strings.Contains(err.Error(), `"adagrad"`) || !strings.Contains(err.Error(), "WeightsOnly") {
			t.Errorf("%d servers, adam: got %v, want what to do", servers, err)
		}
	}
}

// weightsByRow are all weights: those of dense params as a row 0.
type weightsByRow map[string]map[uint64][]float32

func valuesOf(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) (weightsByRow, error) {
	all := weightsByRow{}
	var none []optimizer.Rows
	for _, p := range m.List {
		if p.Embedding {
			none = append(none, trial.RowsOf(p, nil))
		}
	}
	err := m.InSession(ctx, func(s optimizer.Session) error { return trial.Look(ctx, s, none...) })
	for _, p := range m.List {
		all[p.Name] = map[uint64][]float32{}
		if !p.Embedding {
			all[p.Name][0] = slices.Clone(p.W)
			continue
		}
		for row, e := range f.Rows(ctx, p.Name) {
			if e != nil {
				return nil, errors.Join(err, e)
			}
			all[p.Name][row.ID] = slices.Clone(row.W)
		}
	}
	return all, err
}

// differs says where weights are others than those that were written down.
func (v weightsByRow) differs(want weightsByRow, params ...string) error {
	for name, rows := range want {
		if len(params) > 0 && !slices.Contains(params, name) {
			continue
		}
		if got, want := slices.Sorted(maps.Keys(v[name])), slices.Sorted(maps.Keys(rows)); !slices.Equal(got, want) {
			return fmt.Errorf("%s has rows %v, want %v", name, got, want)
		}
		for id, row := range rows {
			if !slices.Equal(v[name][id], row) {
				return fmt.Errorf("%s, row %d, is %v, want %v", name, id, v[name][id], row)
			}
		}
	}
	return nil
}

// first does one thing after the other until one fails.
func first(all ...func() error) error {
	for _, do := range all {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}
