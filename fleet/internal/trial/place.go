package trial

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// Place is a kind of job: in each an option acts or is refused. A process alone accepts the options of clusters, since
// the same program runs there, and trains as without them.
type Place struct {
	Name             string
	Mode             strategy.Mode
	Servers, Workers int
}

// The kinds of jobs, and groups that have something in common.
var (
	InSync       = Place{"sync", strategy.ModeSync, 2, 2}
	InAsync      = Place{"async", strategy.ModeAsync, 2, 2}
	InHalfAsync  = Place{"half_async", strategy.ModeHalfAsync, 2, 2}
	InSSP        = Place{"ssp", strategy.ModeSSP, 2, 2}
	InGeo        = Place{"geo", strategy.ModeGeo, 2, 2}
	InCollective = Place{"collective", strategy.ModeSync, 0, 2}
	Alone        = Place{"alone", "", 0, 1}

	Pushing     = []Place{InSync, InAsync, InHalfAsync, InSSP} // gradients, to servers
	WithServers = append(slices.Clone(Pushing), InGeo)
	Clusters    = append(slices.Clone(WithServers), InCollective)
	Places      = append(slices.Clone(Clusters), Alone)
)

// Refusal returns why such a job is refused, or nil.
func (x Trial) Refusal(t *testing.T) error {
	t.Helper()
	x.Strategy.Mode = x.Mode
	o := fleet.Options{Transport: transport.NewMemory(), Placements: []placement.Policy{LastServer{}}}
	f, err := fleet.New(t.Context(), x.Worker(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Build(f)
	return err
}

// Worker returns the role of worker 0.
func (x Trial) Worker() rolemaker.RoleMaker {
	names := []string{"a:1", "b:1"}
	switch {
	case x.Servers > 0:
		return rolemaker.UserDefined{WorkerNum: x.Workers, ServerEndpoints: names[:x.Servers]}
	case x.Workers > 1:
		return rolemaker.UserDefinedCollective{WorkerEndpoints: names[:x.Workers]}
	}
	return rolemaker.Local{}
}

// LastServer is an example of a program's own policy.
type LastServer struct{}

// Name implements [placement.Policy].
func (LastServer) Name() string { return "LastServer" }

// Place implements [placement.Policy].
func (LastServer) Place(blocks []placement.Block, servers int) []int {
	at := make([]int, len(blocks))
	for i := range at {
		at[i] = servers - 1
	}
	return at
}
