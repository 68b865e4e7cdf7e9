package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// Restore implements [backend.Trainer]. All workers must load the same weights, in the same order.
func (t *Trainer) Restore(ctx context.Context, dir string, what checkpoint.Selection) error {
	if t.begun() {
		return backend.ErrJoined
	}
	origin, err := t.Fill(ctx, dir, what)
	if err != nil {
		return err
	}
	if t.origin != "" {
		origin = t.origin + ", then from " + origin
	}
	t.origin = origin
	return nil
}

// Load implements [backend.Trainer]. It is Restore, and works only before Join: later each worker would load at another
// step.
func (t *Trainer) Load(ctx context.Context, dir string, what checkpoint.Selection) error {
	return t.Restore(ctx, dir, what)
}

// Join implements [backend.Trainer]: it finds the other workers, compares with them what is trained, and takes the
// dense weights of rank 0.
func (t *Trainer) Join(ctx context.Context) error {
	if err := t.resume(ctx); err != nil {
		return t.named(err)
	}
	if t.c.Group.Rank == 0 {
		if err := t.Claim(ctx); err != nil {
			return t.named(err)
		}
	}
	g, err := t.claim(ctx)
	if err != nil {
		if !errors.Is(err, backend.ErrJoined) {
			t.Release()
		}
		return t.named(err)
	}
	if err = g.Join(ctx); err == nil {
		err = t.agree(ctx, g)
	}
	if err == nil {
		err = t.takeWeights(ctx, g)
	}
	if err != nil {
		return t.named(errors.Join(err, t.fail(ctx, err)))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.joined = true
	return nil
}

// resume loads the checkpoint that the job goes on from, in place of what was restored. agree checks that it is the
// same on every worker.
func (t *Trainer) resume(ctx context.Context) error {
	if t.begun() {
		return backend.ErrJoined
	}
	origin, err := t.Resume(ctx)
	if origin != "" {
		t.origin = origin
	}
	t.goOn()
	return errors.Join(err, t.Whole())
}

// begun reports whether the worker has joined, or is about to.
func (t *Trainer) begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.claimed
}

// claim makes the group, once. That may take as long as StartTimeout.
func (t *Trainer) claim(ctx context.Context) (*collective.Group, error) {
	t.mu.Lock()
	claimed := t.claimed
	t.claimed = true
	t.mu.Unlock()
	if claimed {
		return nil, backend.ErrJoined
	}
	g, err := collective.New(ctx, t.c.Group)
	t.mu.Lock()
	t.group, t.claimed = g, err == nil
	left := t.left
	t.mu.Unlock()
	if err == nil && left { // Close was called meanwhile, before there was a group to close
		return nil, errors.Join(ErrClosed, g.Close(ctx, ErrClosed))
	}
	return g, err
}

// introduction is what a worker sends to the others.
type introduction struct {
	Build       string             `json:"build"`
	Fingerprint layout.Fingerprint `json:"fingerprint"`
}

// agree compares this worker's model, rule, strategy and number of updates with the others'.
func (t *Trainer) agree(ctx context.Context, g *collective.Group) error {
	mine := append(layout.Fingerprint{}, t.c.Fingerprint...)
	mine = append(mine, layout.Fact("beginning", t.begins()),
		layout.Fact("step (of the checkpoint that was loaded, 0 without one)", t.Local().Step()))
	data, err := json.Marshal(introduction{Build: wire.Build(), Fingerprint: mine})
	if err != nil {
		return err
	}
	all, err := g.AllGather(ctx, data)
	if err != nil {
		return err
	}
	me := fmt.Sprintf("worker %d", t.c.Group.Rank)
	for rank, data := range all {
		var other introduction
		if err := json.Unmarshal(data, &other); err != nil {
			return fmt.Errorf("replica: fingerprint of worker %d: %w", rank, err)
		}
		them := fmt.Sprintf("worker %d", rank)
		if d := mine.Difference(me, other.Fingerprint, them); d != "" {
			return fmt.Errorf("replica: %s builds another job: %s%s", them, d, wire.Apart(me, them, other.Build))
		}
	}
	return nil
}

// begins describes what this worker's weights were loaded from.
func (t *Trainer) begins() string {
	if t.origin == "" {
		return "nothing, without Restore or LoadModel"
	}
	return t.origin
}

// takeWeights sets every dense param, frozen ones included, to the values of rank 0.
func (t *Trainer) takeWeights(ctx context.Context, g *collective.Group) error {
	var names []string
	var all [][]float32
	for _, p := range t.c.Params {
		if p.Embedding {
			continue
		}
		w, err := t.Local().Dense(p.Name)
		if err != nil {
			return err
		}
		names, all = append(names, p.Name), append(all, w)
	}
	if err := collective.Broadcast(ctx, g, 0, all...); err != nil {
		return err
	}
	for i, name := range names {
		if err := t.Local().SetDense(name, all[i]); err != nil {
			return err
		}
	}
	return nil
}

// Leave implements [backend.Trainer]: it waits until all workers leave.
func (t *Trainer) Leave(ctx context.Context) error {
	g, err := t.ready()
	switch {
	case errors.Is(err, ErrClosed):
		return nil
	case err != nil:
		return err
	}
	err = t.EndEpoch(ctx)
	t.mu.Lock()
	t.left = true
	t.mu.Unlock()
	if err != nil {
		return errors.Join(err, t.fail(ctx, err))
	}
	defer t.Release()
	return t.named(g.Leave(ctx))
}

// Close implements [backend.Trainer]. It informs the other workers.
func (t *Trainer) Close() {
	if err := t.fail(context.Background(), errGivenUp); err != nil {
		t.c.Group.Logger.Warn("replica: closing", "error", err)
	}
}

// fail ends this worker's part at once and sends the others the reason.
func (t *Trainer) fail(ctx context.Context, reason error) error {
	t.Release()
	t.mu.Lock()
	t.left = true
	g := t.group
	t.mu.Unlock()
	if g == nil {
		return nil
	}
	return g.Close(ctx, reason)
}
