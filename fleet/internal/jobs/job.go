package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// First samples of what is no training row: test rows, and the one that is trained before the job begins. Nothing
// trains that again: for how many periods its line was unseen is the clock of the job's tables.
const firstTest, marker = 1 << 20, 1 << 21

// settled is until a table that is nearly full has made room, so that what is published then stays what the job has.
const settled = 3 * time.Second

// strategy is that of a life. Without servers it has what decides numbers alone.
func (p Program) strategy(l Life, dir string) strategy.Strategy {
	s := p.Strategy
	s.FuseGradSizeInMB = 0
	if l.Servers == 0 {
		s = strategy.Sync()
		s.GradientMerge, s.Weighting = p.Strategy.GradientMerge, p.Strategy.Weighting
		s.FuseGradSizeInMB = p.Strategy.FuseGradSizeInMB
		s.WorkerTimeout, s.HeartbeatInterval = p.Strategy.WorkerTimeout, p.Strategy.HeartbeatInterval
		s.StartTimeout, s.WaitTimeout = p.Strategy.StartTimeout, p.Strategy.WaitTimeout
	}
	if l.Servers == 0 && l.Workers == 1 {
		s.Weighting = ""
	}
	s.Recovery = strategy.Recovery{Dir: filepath.Join(dir, "checkpoints"), Every: strategy.Duration(p.Every),
		Deltas: p.Deltas}
	if l.Servers > 0 {
		s.Recovery.WorkerLost = p.Lost
	}
	if p.Journal && l.Servers > 0 {
		s.Recovery.Journal, s.Recovery.JournalDir = strategy.JournalProcess, filepath.Join(dir, "journals")
	}
	return s
}

// job is that of a process.
func (a *actor) job() train.Job {
	p, l := a.p, a.p.Lives[a.life]
	loss, outputs := p.Model.Loop()
	s := p.strategy(l, a.dir)
	j := train.Job{Loss: loss, Outputs: outputs, Rule: p.Rules.Door(), Strategy: &s, Stdout: &a.log, Sharded: p.Sharded}
	j.Options = train.Options{Epochs: p.epochs(l), Batch: l.Batch, Threads: l.Threads, EvalEvery: p.EvalEvery,
		Patience: p.Patience, Seed: p.Model.Seed, Out: filepath.Join(a.dir, "out"), Load: filepath.Join(a.dir, "first")}
	j.Data = func(ctx context.Context) (rows, tests *dataset.Dataset, err error) {
		rows = p.Model.Rows(0, p.Model.Samples)
		if p.Tests > 0 {
			tests = p.Model.Rows(firstTest, p.Tests)
		}
		if p.Sharded {
			rows = rows.Shard(a.f.WorkerIndex(), l.Workers)
			if tests != nil {
				tests = tests.Shard(a.f.WorkerIndex(), l.Workers)
			}
		}
		if rows, err = rows.Load(ctx); err == nil && tests != nil {
			tests, err = tests.Load(ctx)
		}
		return rows, tests, err
	}
	if p.Days > 0 {
		a.ofDays(&j)
	}
	if p.Worse {
		j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
			if rows = rows.Shuffle(j.Seed).Epoch(epoch); epoch == 0 {
				return rows
			}
			return rows.MapFloats("label", func(y float32) float32 { return -y })
		}
	}
	j.Hooks = []train.Hooks{{Name: "seen", State: &a.seen,
		Begin: func(_ context.Context, r *train.Run) error {
			if n := len(r.User); n > 0 && n != p.User {
				return fmt.Errorf("the program begins with %d bytes, and has kept %d", n, p.User)
			}
			r.User = make([]byte, p.User)
			return nil
		},
		Step: func(_ context.Context, _ *train.Run, _ nn.TrainResult) error {
			if l.Threads <= 1 {
				time.Sleep(p.Rest)
			}
			return a.at("step")
		},
		Evaluated: func(_ context.Context, _ *train.Run, _ train.Evaluation) error {
			a.seen.Evaluations++
			return a.at("evaluated")
		},
		EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
			time.Sleep(p.Hook)
			if p.Publishes && p.Model.More.Evict.By != "" {
				time.Sleep(settled)
			}
			err := a.at("epoch ends")
			if err == nil {
				err = a.epochEnds(ctx, r, outputs)
			}
			if err != nil {
				return err
			}
			time.Sleep(p.Hook)
			a.seen.Ends++
			return a.at("epoch ended")
		},
		End: func(ctx context.Context, r *train.Run) error {
			if !r.Leads() {
				return nil
			}
			factor, err := a.f.RateFactor(ctx)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.left = Left{History: r.History, Seen: a.seen, Factor: factor}
			return err
		},
	}}
	if p.Plateau > 0 {
		lower := lr.ReduceOnPlateau{LR: p.Rules.All.LR, Patience: p.Plateau - 2, Factor: 0.3}
		j.Hooks = append(j.Hooks, train.Plateau{ReduceOnPlateau: lower}.Hooks())
	}
	if p.Tests > 0 {
		j.Hooks = append(j.Hooks, train.BestModel{Dir: filepath.Join(a.dir, "best")}.Hooks())
	}
	if p.Stands {
		epoch.Anew(&j, func() any {
			another := &actor{stage: a.stage, name: a.name + " in another's place", f: a.f, counts: map[string]int{}}
			return another.job()
		})
	}
	return j
}

// seen is what a hook has seen, as its state says.
type seen struct{ Evaluations, Ends int }

// Save implements [train.State].
func (s *seen) Save() ([]byte, error) { return json.Marshal(s) }

// Resume implements [train.State].
func (s *seen) Resume(saved []byte) error {
	if *s = (seen{}); saved == nil {
		return nil
	}
	return json.Unmarshal(saved, s)
}

// epochEnds ends the period, and publishes, each once by its name.
func (a *actor) epochEnds(ctx context.Context, r *train.Run, outputs []*nn.Node) error {
	p, leads, name := a.p, r.Leads(), fmt.Sprintf("%03d", r.Epoch)
	shrink := fleet.ShrinkOptions{Unseen: p.Unseen}
	var err error
	if dir := filepath.Join(a.dir, "saved", name); p.Reloads && leads {
		if err = a.f.SavePersistables(ctx, dir); err == nil {
			err = a.f.LoadModel(ctx, dir)
		}
		if err != nil {
			return err
		}
	}
	switch together := a.f.ServerNum() == 0 && a.f.WorkerNum() > 1; {
	case !leads && !together:
	case p.Period == "shrink":
		shrink.Period = name
		_, err = a.f.Shrink(ctx, shrink)
	case p.Period == "batch":
		o := fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: shrink, Name: name}
		_, err = a.f.SaveModel(ctx, filepath.Join(a.dir, "batches", name), o)
	}
	fmt.Fprintf(&a.log, "%s ends epoch %s, leads %t, again %t: %v\n", a.name, name, leads, r.Again, err)
	if err != nil || !p.Publishes || !leads || p.Days > 0 {
		return err
	}
	model := nn.Inference(outputs...)
	err = a.publish(ctx, "delta-"+name, p.serves(fleet.SaveDelta, model, a.published()))
	if errors.Is(err, fleet.ErrNoBase) {
		err = a.publish(ctx, "base-"+name, p.serves(fleet.SaveBase, model, a.published()))
	}
	return err
}

func (a *actor) published() string { return filepath.Join(a.dir, "published") }

// serves are the options with which every row is served.
func (p Program) serves(mode fleet.SaveMode, m nn.InferenceModel, published string) fleet.SaveOptions {
	o := fleet.SaveOptions{Mode: mode, Model: m, Published: published}
	if p.rates() {
		if o.BaseThreshold, o.DeltaKeepDays = -1, -1; mode == fleet.SaveDelta {
			o.DeltaThreshold = -1
		}
	}
	return o
}

// publish saves a base or a delta.
func (a *actor) publish(ctx context.Context, name string, o fleet.SaveOptions) error {
	dir := filepath.Join(a.published(), name)
	o.Name = name
	if _, err := a.f.SaveModel(ctx, dir, o); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.Mode == fleet.SaveBase {
		a.chain = nil
	}
	if !slices.Contains(a.chain, dir) {
		a.chain = append(a.chain, dir)
	}
	return nil
}
