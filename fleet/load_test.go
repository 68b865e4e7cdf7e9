package fleet_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestServersLoadBeforeTheyServe: tables that are served are not replaced, and a directory must be one of a checkpoint.
func TestServersLoadBeforeTheyServe(t *testing.T) {
	fleettest.Run(t, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
		if err := train(ctx, f, optimizer.SGD{LR: 0.1}, strategy.Sync(), 2, nil); err != nil || f.IsWorker() {
			return err
		}
		for name, err := range map[string]error{"InitServer": f.InitServer(ctx, ""), "LoadModel": f.LoadModel(ctx, ""), "RunServer": f.RunServer(ctx)} {
			if want := map[string]error{"InitServer": fleet.ErrOrder, "LoadModel": checkpoint.ErrNone, "RunServer": fleet.ErrOrder}[name]; !errors.Is(err, want) {
				t.Errorf("%s after RunServer: got %v, want %v", name, err, want)
			}
		}
		if err := f.LoadModel(ctx, t.TempDir()); !errors.Is(err, checkpoint.ErrNone) {
			t.Errorf("an empty directory: %v", err)
		}
		if err := f.InitServer(ctx, "", "w"); !errors.Is(err, checkpoint.ErrNone) {
			t.Errorf("a param of no checkpoint: %v", err)
		}
		return nil
	})
}

// TestLoadOfSomeParams begins a job with two params of another job's checkpoint: those it has from there, whatever servers wrote them
// and read them, and all others are new.
func TestLoadOfSomeParams(t *testing.T) {
	saved, model := t.TempDir(), t.TempDir()
	leg{to: 3, save: saved, model: model}.on(t, 2, 2, strategy.Sync())
	old, fresh := read(t, filepath.Join(model, "weights.safetensors")), newToy()
	for name, c := range map[string]fleettest.Cluster{"alone": {Workers: 1}, "with servers": {Servers: 3, Workers: 2}, "collective": {Workers: 2}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error { return begin(ctx, f, saved, dir) })
			got := read(t, filepath.Join(dir, "weights.safetensors"))
			for _, name := range []string{"big", "emb"} {
				if !slices.Equal(tensor[float32](t, got, name), tensor[float32](t, old, name)) {
					t.Errorf("%s is not the one of the checkpoint", name)
				}
			}
			for _, p := range []*optimizer.Param{fresh.w, fresh.b} {
				if !slices.Equal(tensor[float32](t, got, p.Name), p.W) {
					t.Errorf("%s is not new", p.Name)
				}
			}
			if ids := tensor[uint64](t, got, "open.ids"); len(ids) != 0 {
				t.Errorf("open has %d rows", len(ids))
			}
		})
	}
}

// begin loads big and emb from a checkpoint, joins, and saves the model that the job begins with.
func begin(ctx context.Context, f *fleet.Fleet, from, dir string) error {
	o := newToy()
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.01}, strategy.Sync())
	if err != nil {
		return err
	}
	if err := opt.Minimize(o); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, from, "big", "emb"); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if f.ServerNum() == 0 {
		if err := f.LoadModel(ctx, from, "big", "emb"); err != nil {
			return err
		}
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	if err := saveFirst(ctx, f, dir)(o); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}
