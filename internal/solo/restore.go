package solo

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/progress"
)

// Restore implements [backend.Trainer]. It may be called at any time between two steps.
func (t *Trainer) Restore(ctx context.Context, dir string, what checkpoint.Selection) error {
	_, err := t.Fill(ctx, dir, what)
	return err
}

// Load implements [backend.Trainer]. There is no other process to agree with. What a job had done by name when it saved
// one of its own checkpoints comes with the whole of it.
func (t *Trainer) Load(ctx context.Context, dir string, what checkpoint.Selection) error {
	_, m, err := t.fill(ctx, dir, what)
	if err == nil && m.Progress != nil && len(what.Params) == 0 {
		_ = t.local.Still(func() error { t.deeds = m.Deeds; return nil })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loaded = t.loaded || err == nil
	return err
}

// Fill is Restore that also returns a description of the loaded data, so that workers can compare it. If it fails
// midway the tables hold parts of two models, and all uses of them fail until everything is loaded. Steps wait until it
// is over.
func (t *Trainer) Fill(ctx context.Context, dir string, what checkpoint.Selection) (origin string, err error) {
	origin, _, err = t.fill(ctx, dir, what)
	return origin, err
}

func (t *Trainer) fill(ctx context.Context, dir string, what checkpoint.Selection) (origin string,
	m checkpoint.Manifest, err error) {
	everything := func(int, uint64) bool { return true }
	err = t.local.Still(func() (err error) {
		m, err = checkpoint.Restore(ctx, dir, t.Store(), t.rule, t.params, everything, what)
		return err
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Changed && (err != nil || len(what.Params) == 0) {
		t.torn = err
	}
	if err != nil {
		return "", m, err
	}
	if len(what.Params) == 0 && !what.WeightsOnly {
		t.pace, t.positions = m.Pace, m.Counted
		if len(m.Counted) == 1 {
			t.Steps.reading.Count(m.Counted[0])
		}
		t.Steps.reading.After(progress.MostSteps(m.Counted))
	}
	t.local.Changed()
	return m.Origin + ": " + what.String(), m, nil
}

// Whole returns an error if a load has left parts of two models.
func (t *Trainer) Whole() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.torn != nil {
		return fmt.Errorf("a part of the weights was loaded before that failed, load them again: %w", t.torn)
	}
	return nil
}
