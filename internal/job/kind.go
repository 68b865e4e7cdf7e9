package job

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/client"
	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/replica"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/internal/solo"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

// equip sets what depends on the kind of job: the backend that keeps a worker's weights, and the transport. The kind is
// chosen once.
func (j *Job) equip() (err error) {
	if j.ID.Local() {
		j.Backend, err = solo.New(j.Params, j.Rule, j.Strategy, j.Log)
		return err
	}
	if j.Transport, err = j.compressed(); err != nil {
		return err
	}
	switch {
	case j.ID.IsServer():
		j.Server = server.Config{Index: j.ID.Index, Workers: j.ID.Workers, Process: j.Process, Endpoints: j.ID.Servers,
			Layout: j.Layout, Rule: j.Rule, Strategy: j.Strategy, Fingerprint: j.Fingerprint,
			Transport: j.Transport, Logger: j.Log, Stays: j.StartedAgain, ReadRows: j.ReadRows, Pulses: j.Pulses}
	case len(j.ID.Servers) == 0:
		j.Backend, err = replica.New(replica.Config{Params: j.Params, Rule: j.Rule, Strategy: j.Strategy,
			Fingerprint: j.Fingerprint,
			Group: collective.Config{Rank: j.ID.Index, Endpoints: j.ID.WorkerEndpoints, Transport: j.Transport,
				Logger: j.Log, Pulses: j.Pulses}})
	default:
		j.Backend = client.New(client.Config{Worker: j.ID.Index, Workers: j.ID.Workers, Process: j.Process,
			Servers: j.ID.Servers,
			Layout:  j.Layout, Rule: j.Rule, Strategy: j.Strategy, Fingerprint: j.Fingerprint, Transport: j.Transport,
			Logger: j.Log, Pulses: j.Pulses})
	}
	return err
}

// Suit completes a strategy for this kind of job, or returns an error for options that have no effect in it.
func Suit(id rolemaker.Identity, s strategy.Strategy, rule optimizer.Rule) (strategy.Strategy, error) {
	switch servers := len(id.Servers); {
	case servers > 0:
		return s, suitServers(s, rule, servers)
	case id.Collective && !id.Local():
		return suitReplicas(s)
	}
	return s, nil
}

// suitReplicas refuses options that need servers.
func suitReplicas(s strategy.Strategy) (strategy.Strategy, error) {
	if s.Mode == "" {
		s.Mode = strategy.ModeSync
	}
	if !mode.Of(s.Mode).Rounds {
		return s, fmt.Errorf("mode %s needs servers: a collective job trains in mode sync, which an empty mode means "+
			"there too", s.Mode)
	}
	if field := s.WithServers(); field != "" {
		return s, fmt.Errorf("strategy: %s is for jobs with servers, and a collective job has none: leave it out",
			field)
	}
	return s, nil
}

// suitServers refuses options that need all weights in one place: those of jobs without servers, and in rounds a clip
// that needs all gradients of an update.
func suitServers(s strategy.Strategy, rule optimizer.Rule, servers int) error {
	if field := s.WithoutServers(); field != "" {
		return fmt.Errorf("strategy: %s is for jobs without servers, and this one has %d: leave it out", field, servers)
	}
	clip, clips := rules.ClipperOf(rule)
	if _, byNorm := clip.(optimizer.NormClipper); !clips || byNorm || !mode.Of(s.Mode).Rounds {
		return nil
	}
	return fmt.Errorf("%T wants the gradients of a round in one place, but in mode sync servers share them: give it a "+
		"method Factors (optimizer.NormClipper), or choose another mode", clip)
}
