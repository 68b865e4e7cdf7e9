package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// lateRole is a role that is known when others have come, which never happens.
type lateRole struct{}

func (lateRole) Identity() (rolemaker.Identity, error) {
	return rolemaker.Identity{}, errors.New("ask Resolve")
}

func (lateRole) Resolve(ctx context.Context) (rolemaker.Identity, error) {
	<-ctx.Done()
	return rolemaker.Identity{}, context.Cause(ctx)
}

// TestInitEndsWithItsContext: who waits for the other processes of an MPI job waits no longer than its context.
//
// Promise: [G4] a wait for the process's own role, or for a checkpoint that is being loaded, ends with its context
// Also: TestLoadsLookAtTheirContext, TestLoadEndsWithItsContext (internal/checkpoint)
func TestInitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	stop := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := fleet.New(ctx, lateRole{}, fleet.Options{}); failed <- err }()
	cancel(stop)
	if err := <-failed; !errors.Is(err, stop) || !strings.HasPrefix(err.Error(), "fleet: ") {
		t.Errorf("got %v, want %v", err, stop)
	}
	if _, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{}); !errors.Is(err, stop) {
		t.Errorf("a role that nobody waits for: got %v, want %v", err, stop)
	}
	late, end := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer end()
	if _, err := fleet.New(late, lateRole{}, fleet.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline that is over: %v", err)
	}
}

// TestLoadsLookAtTheirContext: a call whose context has ended says so by its name, loads nothing and keeps no server.
func TestLoadsLookAtTheirContext(t *testing.T) {
	t.Parallel()
	saved, stop := t.TempDir(), errors.New("interrupted")
	trial.Training{Strategy: strategy.Sync(), To: 2, Save: saved}.On(t, trial.Cluster(1, 1))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	refused := func(call string, err error) {
		t.Helper()
		if !errors.Is(err, stop) || !strings.HasPrefix(err.Error(), "fleet: "+call+": ") {
			t.Errorf("%s: got %v, want %v", call, err, stop)
		}
	}
	server := member(t, rolemaker.Server, false, true)
	for _, dir := range []string{"", saved} {
		refused("InitServer", server.InitServer(ctx, dir))
		if err := server.RunServer(t.Context()); !errors.Is(err, fleet.ErrOrder) {
			t.Errorf("RunServer after InitServer failed: got %v, want %v", err, fleet.ErrOrder)
		}
	}
	alone := member(t, rolemaker.Worker, true, false)
	if err := trial.Minimize(alone, trial.NewToy(), optimizer.Adam{LR: 0.01}, strategy.Sync()); err != nil {
		t.Fatal(err)
	}
	refused("LoadModel", alone.LoadModel(ctx, saved))
	if err := alone.LoadModel(t.Context(), saved); err != nil {
		t.Error(err)
	}
}
