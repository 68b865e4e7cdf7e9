package solo

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process is a trainer of w and emb with a thread that trains.
type process struct {
	*Trainer
	t       *testing.T
	w, emb  *optimizer.Param
	session optimizer.Session
	made    uint64
}

// newProcess is one whose own checkpoints go to dir, if it has a name.
func newProcess(t *testing.T, dir string, entry ...optimizer.Entry) *process {
	t.Helper()
	p := &process{t: t, w: &optimizer.Param{Name: "w", Shape: []int{2}, W: make([]float32, 2), G: make([]float32, 2),
		Init: optimizer.Constant{Value: 1}},
		emb: &optimizer.Param{Name: "emb", Shape: []int{0, 1}, Embedding: true, Init: optimizer.Constant{Value: 1}}}
	if len(entry) > 0 {
		p.emb.Entry = entry[0]
	}
	s := strategy.Sync()
	s.NotFinite, s.Recovery = strategy.NotFiniteSkip, strategy.Recovery{Dir: dir, Keep: 2}
	var err error
	p.Trainer, err = New([]*optimizer.Param{p.w, p.emb}, optimizer.SGD{LR: 1}, s, slog.New(slog.NewTextHandler(io.Discard, nil)))
	check(t, err)
	t.Cleanup(p.Trainer.Close)
	return p
}

// join takes up what there is, and opens a thread.
func (p *process) join() *process {
	p.t.Helper()
	check(p.t, p.Join(p.t.Context()))
	var err error
	p.session, err = p.Open([]*optimizer.Param{p.w, p.emb})
	check(p.t, err)
	return p
}

// step trains a step of four samples: gradients of g for all of w and each row.
func (p *process) step(g float32, ids ...uint64) error {
	s := &optimizer.Step{Samples: 4, Number: p.made + 1, Rows: []optimizer.Rows{
		{Param: p.emb, IDs: ids, W: make([]float32, len(ids)), G: slices.Repeat([]float32{g}, len(ids))}}}
	if err := p.session.Begin(p.t.Context(), s); err != nil {
		return err
	}
	p.w.G[0], p.w.G[1] = g, g
	if err := p.session.End(p.t.Context(), s); err != nil {
		return err
	}
	p.made++
	return nil
}

// weights are those of w, and each row's.
func (p *process) weights() (w []float32, rows map[uint64]float32) {
	p.t.Helper()
	rows = map[uint64]float32{}
	check(p.t, p.Cut(p.t.Context(), func(all backend.Weights) error {
		dense, err := all.Dense(p.t.Context())
		w = dense["w"]
		if err != nil {
			return err
		}
		return all.Rows(p.t.Context(), "emb", func(ids []uint64, w []float32) error {
			rows[ids[0]] = w[0]
			return nil
		})
	}))
	return w, rows
}

// TestStepsAreCounted: what was applied, how far the thread is in its data, and what was skipped since it is not a number.
func TestStepsAreCounted(t *testing.T) {
	p := newProcess(t, "").join()
	check(t, p.step(0.5, 3, 7))
	check(t, p.step(float32(math.NaN()), 3))
	look := &optimizer.Step{Eval: true, Samples: 4, Rows: []optimizer.Rows{{Param: p.emb}}}
	check(t, p.session.Begin(t.Context(), look))
	check(t, p.session.End(t.Context(), look))
	c := p.Counts()
	if c.Steps != 2 || c.Rows != 2 || c.Dropped != 0 || c.NotFinite != 2 {
		t.Errorf("%+v, want 2 steps, 2 rows, and a row and a variable that were skipped", c)
	}
	if w, rows := p.weights(); !slices.Equal(w, []float32{0.5, 0.5}) || len(rows) != 2 || rows[3] != 0.5 || rows[7] != 0.5 {
		t.Errorf("weights %v and %v", w, rows)
	}
	if at := p.At(); len(at) != 1 || len(at[0]) != 1 || at[0][0].Samples != 8 {
		t.Errorf("the worker is at %+v, want 8 samples", at)
	}
}

// TestCheckpointsOfWhatIsNew: one is written when weights, periods, the rate or the program's progress are others than in the last, and
// the process that takes this one's place goes on from the newest; only so many stay.
func TestCheckpointsOfWhatIsNew(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	p := newProcess(t, dir).join()
	at := checkpoint.Progress{Epoch: 0, User: []byte("a")}
	whole := func() (n int) {
		all, err := filepath.Glob(filepath.Join(dir, "ckpt-*", "manifest.json"))
		check(t, err)
		newest, _, err := checkpoint.Latest(dir)
		check(t, err)
		if len(all) > 2 {
			t.Errorf("%d checkpoints, and 2 are to stay", len(all))
		}
		for _, x := range newest {
			if x >= '0' && x <= '9' {
				n = 10*n + int(x-'0')
			} else {
				n = 0
			}
		}
		return n
	}
	saves := func() { t.Helper(); check(t, p.Checkpoint(ctx, func() checkpoint.Progress { return at }, none)) }
	saves()
	last := whole()
	for what, c := range []struct {
		says   string
		change func() error
		writes bool
	}{
		{"nothing", func() error { return nil }, false},
		{"a step", func() error { return p.step(0.5, 3) }, true},
		{"nothing since", func() error { return nil }, false},
		{"a period", func() error { _, err := p.Shrink(ctx, table.Shrink{}, nil); return err }, true},
		{"the rate", func() error { return p.SetRateFactor(ctx, 0.5) }, true},
		{"the program's word", func() error { at.User = []byte("b"); return nil }, true},
		{"the epoch", func() error { at.Epoch = 1; return nil }, true},
		{"the same rate", func() error { return p.SetRateFactor(ctx, 0.5) }, false},
		{"a load", func() error {
			other := filepath.Join(dir, "other")
			return errors.Join(p.Save(ctx, other), p.Restore(ctx, other, checkpoint.Selection{WeightsOnly: true}))
		}, true},
	} {
		check(t, c.change())
		saves()
		if now := whole(); now > last != c.writes {
			t.Errorf("%d, %s: a checkpoint is written: %t, want %t", what, c.says, now > last, c.writes)
		} else {
			last = now
		}
	}
	p.Release()
	next := newProcess(t, dir).join()
	w, rows := next.weights()
	if !slices.Equal(w, []float32{0.5, 0.5}) || rows[3] != 0.5 || string(next.Progress().User) != "b" || next.Progress().Epoch != 1 {
		t.Errorf("it goes on with %v, %v and %+v", w, rows, next.Progress())
	}
	if rate, err := next.RateFactor(ctx); rate != 0.5 || err != nil {
		t.Errorf("rates have factor %v, %v", rate, err)
	}
	if len(next.Positions()) != 1 {
		t.Errorf("positions %+v, want one worker's", next.Positions())
	}
}

// TestAProcessGoesOnWhereItWas: in the middle of an epoch, and rows that wait for their second push are dropped until then.
func TestAProcessGoesOnWhereItWas(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	p := newProcess(t, dir, optimizer.Entry{CountFilter: 2}).join()
	check(t, p.step(0.5, 3, 7))
	if c := p.Counts(); c.Rows != 0 || c.Dropped != 2 {
		t.Errorf("%+v, want two rows that were dropped", c)
	}
	check(t, p.Checkpoint(ctx, func() checkpoint.Progress { return checkpoint.Progress{} }, none))
	p.Release()
	next := newProcess(t, dir, optimizer.Entry{CountFilter: 2}).join()
	if at := next.At(); len(at) != 1 || len(at[0]) != 1 || at[0][0].Samples != 4 || at[0][0].Steps != 1 {
		t.Errorf("it goes on at %+v, want 4 samples in a step", at)
	}
	check(t, next.step(0.5, 3))
	if _, rows := next.weights(); len(rows) != 1 || rows[3] != 0.5 {
		t.Errorf("rows %v: id 3 was pushed twice", rows)
	}
}

// TestAnotherNumberOfWorkersBeginsTheEpochAnew: positions are of shares that there are no more; steps go on counting.
func TestAnotherNumberOfWorkersBeginsTheEpochAnew(t *testing.T) {
	p := newProcess(t, "")
	p.positions = [][]progress.Position{{{Threads: 1, Epoch: 2, Samples: 8}}}
	p.progress.Epoch = 2
	p.GoOn(0, 1)
	if at := p.Steps.reading.All(); len(at) != 1 || at[0].Samples != 8 {
		t.Errorf("one worker goes on at %+v", at)
	}
	p.GoOn(0, 2)
	for _, at := range p.Steps.reading.All() {
		if at.Samples != 0 {
			t.Errorf("one of two goes on at %+v", at)
		}
	}
}

// TestHalfALoadIsNoModel: what a load that has failed on its way has left is not trained, saved or read, until a load of everything.
func TestHalfALoadIsNoModel(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	from := newProcess(t, "").join()
	check(t, from.step(0.5, 3))
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	check(t, from.Save(ctx, good))
	check(t, from.Save(ctx, bad))
	parts, err := filepath.Glob(filepath.Join(bad, "part-*"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	text, err := os.ReadFile(parts[0])
	check(t, err)
	text[len(text)-1] ^= 1
	check(t, os.WriteFile(parts[0], text, 0o666))

	p := newProcess(t, "").join()
	if err := p.Restore(ctx, bad, checkpoint.Selection{}); err == nil {
		t.Fatal("a damaged part is loaded")
	}
	_, opens := p.Open([]*optimizer.Param{p.w, p.emb})
	for what, err := range map[string]error{
		"open": opens, "save": p.Save(ctx, filepath.Join(dir, "x")), "checkpoint": p.Checkpoint(ctx, nil, nil),
		"cut":  p.Cut(ctx, func(backend.Weights) error { return nil }),
		"rows": p.Rows(ctx, "emb", func([]uint64, []float32) error { return nil }),
	} {
		if err == nil || !strings.Contains(err.Error(), "load them again") {
			t.Errorf("%s behind half a load: %v", what, err)
		}
	}
	check(t, p.Restore(ctx, good, checkpoint.Selection{Params: []string{"w"}}))
	if p.Whole() == nil {
		t.Error("a load of some params heals half a load of all")
	}
	check(t, p.Restore(ctx, good, checkpoint.Selection{}))
	if w, rows := p.weights(); p.Whole() != nil || !slices.Equal(w, []float32{0.5, 0.5}) || rows[3] != 0.5 {
		t.Errorf("%v, %v, %v", p.Whole(), w, rows)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := p.Save(canceled, filepath.Join(dir, "late")); err == nil {
		t.Error("a save goes on when its context has ended")
	}
}

// none are no frozen values in place of the process's own.
func none() map[string][]float32 { return nil }
