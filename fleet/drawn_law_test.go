package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAnyJob draws clusters, models, rules and strategies by seed. Each is refused with a reason before anything starts, by every
// role alike, or it trains, saves, and goes on from the checkpoint on another number of servers with the same weights; where a
// mode promises it, to the same end; many on networks with faults. FLEET_SEEDS=5000 draws that many; FLEET_SEED=n draws the one
// that failed.
//
// Promise: [G11] clusters, models, rules and strategies are drawn by seed, a third of them on faulty networks;
// `FLEET_SEEDS=2500` draws as many
func TestAnyJob(t *testing.T) {
	t.Parallel()
	refused, all := 0, 0
	trial.EachSeed(t, 40, func(seed trial.Seed) {
		all++
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			d := drawn{trial.Draw(seed)}
			defer func() {
				if t.Failed() {
					t.Logf("run it again with FLEET_SEED=%d go test ./fleet -run '^TestAnyJob$'\n%v", seed.N, d)
				}
			}()
			again := d
			again.Servers = d.Again
			for _, job := range []drawn{d, again} {
				if reason := job.refusal(t); reason != nil {
					refused++
					t.Logf("refused with %d servers: %v", job.Servers, reason)
					return
				}
			}
			d.goesOn(t)
		})
	})
	t.Logf("%d of %d jobs were refused", refused, all)
}

// refusal is why a job can't be, on which all its roles must agree.
func (d drawn) refusal(t *testing.T) (reason error) {
	t.Helper()
	for i, rm := range d.roles() {
		f, err := fleet.New(t.Context(), rm, fleet.Options{Transport: transport.NewMemory()})
		law.Check(t, err)
		_, err = d.Build(f)
		switch {
		case i > 0 && fmt.Sprint(err) != fmt.Sprint(reason):
			t.Errorf("%v says %v, others %v", f, err, reason)
		case err != nil && (!strings.HasPrefix(err.Error(), "fleet: ") || strings.Contains(err.Error(), "%!")):
			t.Errorf("what sort of reason is this: %v", err)
		}
		reason = err
	}
	return reason
}

func (d drawn) roles() (all []rolemaker.RoleMaker) {
	if d.Servers == 0 && d.Workers == 1 {
		return []rolemaker.RoleMaker{rolemaker.Local{}}
	}
	names := []string{"a:1", "b:1", "c:1"}
	for i := range d.Servers {
		all = append(all, rolemaker.UserDefined{CurrentID: i, Role: rolemaker.Server, WorkerNum: d.Workers, ServerEndpoints: names[:d.Servers]})
	}
	for i := range d.Workers {
		if d.Servers == 0 {
			all = append(all, rolemaker.UserDefinedCollective{CurrentID: i, WorkerEndpoints: names[:d.Workers]})
			continue
		}
		all = append(all, rolemaker.UserDefined{CurrentID: i, Role: rolemaker.Worker, WorkerNum: d.Workers, ServerEndpoints: names[:d.Servers]})
	}
	return all
}

// network is that of the job, with its seed's faults or without.
func (d drawn) network(below transport.Transport) transport.Transport {
	if !d.Faults {
		return below
	}
	return d.Seed.Network(below)
}

// goesOn trains two epochs, and the second once more from the checkpoint between them.
func (d drawn) goesOn(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	c := fleettest.Cluster{Servers: d.Servers, Workers: d.Workers}
	c.Simulate(t, d.network, drawnLeg{drawn: d, checkpoint: at("checkpoint"), meanwhile: at("meanwhile"), begun: at("begun"), ended: at("ended")}.run)
	if t.Failed() {
		return
	}
	c.Servers = d.Again
	c.Simulate(t, d.network, drawnLeg{drawn: d, load: at("checkpoint"), meanwhile: at("meanwhile"), begun: at("begun2"), ended: at("ended2")}.run)
	if t.Failed() {
		return
	}
	same(t, "the checkpoint", at("begun"), at("begun2"))
	if d.repeats() {
		same(t, "the end", at("ended"), at("ended2"))
	}
	if err := d.loads(t, at("meanwhile")); err != nil && (d.Resaves && d.Servers > 0 || !errors.Is(err, checkpoint.ErrNone)) {
		t.Errorf("saved meanwhile: %v", err)
	}
}

// loads loads a checkpoint in a process alone.
func (d drawn) loads(t *testing.T, dir string) error {
	d.Strategy = strategy.Sync()
	return fleettest.Cluster{}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if _, err := d.Build(f); err != nil {
			return err
		}
		return f.LoadModel(ctx, dir)
	})["worker 0"]
}

// repeats says whether two runs of the job, one interrupted, end with the same bits.
func (d drawn) repeats() bool {
	narrow := d.Strategy.WithDefaults().Payload != strategy.PayloadFloat32
	return !narrow && (d.Servers == 0 || d.Strategy.Mode == strategy.ModeSync)
}

func same(t *testing.T, what, one, other string) {
	t.Helper()
	a, err := trial.WeightsOf(one)
	law.Check(t, err)
	if b := trial.Weights(t, other); !bytes.Equal(a, b) {
		t.Errorf("%s: weights differ (%d bytes and %d)", what, len(a), len(b))
	}
}
