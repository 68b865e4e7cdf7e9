package fleet_test

import (
	"archive/zip"
	"context"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// A job whose embedding begins with rows of a model in two files, of which the second has lower ids too. testdata/loaded.zip has the model.

// loadedValues are what a worker sees after some steps of that job, in the working directory. Server and worker are killed then, unless there
// are none.
func loadedValues(t *testing.T, steps int) (got weightsByRow) {
	s := strategy.Strategy{Mode: strategy.ModeAsync, StartTimeout: strategy.Duration(time.Minute), Recovery: strategy.Recovery{
		Dir: "checkpoints", Every: strategy.Duration(time.Hour), Journal: strategy.JournalMachine, JournalDir: "journal"}}
	cluster, network := quiet(1, 1)
	synctest.Test(t, func(t *testing.T) {
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			died := 10 * time.Second
			if steps == 0 {
				died = 0
			}
			_, err := live(ctx, f, network, died, func(ctx context.Context, f *fleet.Fleet) error {
				saved, err := serve.Load("model")
				if err != nil {
					return err
				}
				all := saved.Graph.Params()
				rows := all[slices.IndexFunc(all, func(p *optimizer.Param) bool { return p.Embedding })]
				m := &trial.Pulled{Objective: trial.Objective{List: []*optimizer.Param{trial.Dense("w", nil, 3), rows}}}
				return trial.Play(ctx, f, m, optimizer.SGD{LR: 0.5}, s, func() error {
					err := m.InSession(ctx, func(s optimizer.Session) error {
						for n := range steps {
							if err := loadedStep(ctx, s, m, float32(n+1)); err != nil {
								return err
							}
						}
						return nil
					})
					if err == nil {
						got, err = valuesOf(ctx, f, m)
					}
					if steps > 0 {
						<-ctx.Done()
					}
					return err
				})
			})
			return err
		}))
	})
	return got
}

func loadedStep(ctx context.Context, s optimizer.Session, m *trial.Pulled, x float32) error {
	st := m.Step(trial.Batch{X: x, Samples: 1, IDs: [][]uint64{{2, 7}}}, nil)
	if err := s.Begin(ctx, st); err != nil {
		return err
	}
	if err := m.Gradients(st, x); err != nil {
		return err
	}
	return s.End(ctx, st)
}

// TestAJournalOfALoadedModel: a server comes back by a journal whose job began with a loaded model of ids in any order.
func TestAJournalOfALoadedModel(t *testing.T) {
	// Serial: it changes the working directory.
	z, err := zip.OpenReader("testdata/loaded.zip")
	law.Check(t, err)
	defer z.Close()
	t.Chdir(t.TempDir())
	law.Check(t, os.CopyFS(".", z))
	want := loadedValues(t, 3)
	if err := loadedValues(t, 0).differs(want); err != nil || len(want["w"]) == 0 {
		t.Errorf("%d weights, %v", len(want["w"]), err)
	}
}
