package fleet_test

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// place is a kind of job: in each an option acts or is refused. One process alone takes those of clusters as they are, since the same
// program runs there, and trains as without them.
type place struct {
	name             string
	mode             strategy.Mode
	servers, workers int
}

var (
	inSync       = place{"sync", strategy.ModeSync, 2, 2}
	inAsync      = place{"async", strategy.ModeAsync, 2, 2}
	inHalfAsync  = place{"half_async", strategy.ModeHalfAsync, 2, 2}
	inSSP        = place{"ssp", strategy.ModeSSP, 2, 2}
	inGeo        = place{"geo", strategy.ModeGeo, 2, 2}
	inCollective = place{"collective", strategy.ModeSync, 0, 2}
	alone        = place{"alone", "", 0, 1}

	pushing     = []place{inSync, inAsync, inHalfAsync, inSSP} // gradients, to servers
	withServers = append(slices.Clone(pushing), inGeo)
	clusters    = append(slices.Clone(withServers), inCollective)
	places      = append(slices.Clone(clusters), alone)
)

// refusal is why no such job can be.
func (x trial) refusal(t *testing.T) error {
	t.Helper()
	x.s.Mode = x.mode
	f, err := fleet.New(x.worker(), fleet.Options{Transport: transport.NewMemory(), Placements: []placement.Policy{lastServer{}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.build(f)
	return err
}

// worker is the role of worker 0.
func (x trial) worker() rolemaker.RoleMaker {
	names := []string{"a:1", "b:1"}
	switch {
	case x.servers > 0:
		return rolemaker.UserDefined{WorkerNum: x.workers, ServerEndpoints: names[:x.servers]}
	case x.workers > 1:
		return rolemaker.UserDefinedCollective{WorkerEndpoints: names[:x.workers]}
	}
	return rolemaker.Local{}
}
