package fleet_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// cutModel has variables whose last block is as large as a block of another cut, or is not, for most pairs of numbers
// of servers. The state of no two elements is alike.
func cutModel() (*trial.Pulled, optimizer.Rule) {
	m, by := new(trial.Pulled), map[string]optimizer.Rule{"shared": optimizer.SparseSharedAdam{LR: 0.02}}
	for _, rows := range []int{5, 7, 11, 19, 20} {
		momentum, adam := fmt.Sprint("momentum", rows), fmt.Sprint("adam", rows)
		by[momentum], by[adam] = optimizer.Momentum{LR: 0.02}, optimizer.Adam{LR: 0.02}
		m.List = append(m.List, trial.Dense(momentum, optimizer.Uniform{Low: -1, High: 1}, rows, 3),
			trial.Dense(adam, optimizer.Uniform{Low: -1, High: 1}, rows))
	}
	m.List = append(m.List, trial.Dense("shared", optimizer.Uniform{Low: -1, High: 1}, 9))
	return m, optimizer.PerParam{Rule: optimizer.SGD{}, By: by}
}

// cutSteps trains, and returns all weights.
func cutSteps(ctx context.Context, m *trial.Pulled, from, to int) (all [][]float32, err error) {
	err = m.InSession(ctx, func(s optimizer.Session) error {
		for i := from; i < to; i++ {
			st := m.Step(trial.Batch{Samples: 1}, nil)
			if err := trial.Step(ctx, s, st, func() {
				for _, p := range m.List {
					for e := range p.G {
						p.G[e] = float32(e%13-i) / 8
					}
				}
			}); err != nil {
				return err
			}
		}
		return trial.Look(ctx, s)
	})
	for _, p := range m.List {
		all = append(all, append([]float32(nil), p.W...))
	}
	return all, err
}

// TestOtherCuts goes on from the checkpoint of any number of servers with any other, by each call that loads one: every
// element has its weight and its state, as the weights of the next steps show.
//
// Promise: [G6] a job resumed on any number of servers equals one that never stopped
// Also: TestResumeEqualsNeverStopping, TestLocalResume, TestRestore, TestRestoredState, TestCountsOutliveServers
func TestOtherCuts(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	s := strategy.Strategy{Mode: strategy.ModeSync, MinBlockSize: 1, SmallBlocks: true}
	var want [][]float32
	dirs := map[int]string{}
	for n := range 9 {
		dirs[n] = filepath.Join(t.TempDir(), "saved")
		trial.Cluster(n, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
			m, rule := cutModel()
			return trial.Play(ctx, f, m, rule, s, func() (err error) {
				if _, err = cutSteps(ctx, m, 0, 3); err != nil {
					return err
				}
				if err = f.SavePersistables(ctx, dirs[n]); err != nil {
					return err
				}
				want, err = cutSteps(ctx, m, 3, 5)
				return err
			})
		})
	}
	for _, how := range []string{"InitServer", "Restore", "LoadModel"} {
		for _, from := range trial.Some(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
			for _, to := range trial.Some(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
				t.Run(fmt.Sprintf("%s, %d to %d", how, from, to), func(t *testing.T) {
					cutAnew(t, how, dirs[from], to, s, want)
				})
			}
		}
	}
}

// cutAnew goes on from a checkpoint, and finds what differs.
func cutAnew(t *testing.T, how, dir string, servers int, s strategy.Strategy, want [][]float32) {
	trial.Cluster(servers, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		m, rule := cutModel()
		if err := trial.Minimize(f, m, rule, s); err != nil {
			return err
		}
		begin := ""
		switch how {
		case "Restore":
			if err := f.Restore(ctx, dir, fleet.RestoreOptions{}); err != nil {
				return err
			}
		case "InitServer":
			begin = dir
		}
		return trial.Begin(ctx, f, begin, func() error {
			if how == "LoadModel" {
				if err := f.LoadModel(ctx, dir); err != nil {
					return err
				}
			}
			got, err := cutSteps(ctx, m, 3, 5)
			for i, p := range m.List {
				for e, w := range want[i] {
					if err == nil && got[i][e] != w {
						err = fmt.Errorf("element %d of %s is %v, want %v", e, p.Name, got[i][e], w)
					}
				}
			}
			return err
		})
	})
}
