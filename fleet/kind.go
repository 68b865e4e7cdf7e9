package fleet

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
// chosen once, in Minimize.
func (f *Fleet) equip(j *job, params []*optimizer.Param) (err error) {
	if f.id.Local() {
		j.backend, err = solo.New(params, j.rule, j.strategy, f.log)
		return err
	}
	if j.transport, err = compressed(f.options.Transport, j); err != nil {
		return err
	}
	switch {
	case f.IsServer():
		j.server = server.Config{Index: f.id.Index, Workers: f.id.Workers, Process: f.process, Endpoints: f.id.Servers,
			Layout: j.layout, Rule: j.rule, Strategy: j.strategy, Fingerprint: j.fingerprint,
			Transport: j.transport, Logger: f.log, Stays: f.startedAgain, ReadRows: f.readRows, Pulses: &f.pulses}
	case f.ServerNum() == 0:
		j.backend, err = replica.New(replica.Config{Params: params, Rule: j.rule, Strategy: j.strategy,
			Fingerprint: j.fingerprint,
			Group: collective.Config{Rank: f.id.Index, Endpoints: f.id.WorkerEndpoints, Transport: j.transport,
				Logger: f.log, Pulses: &f.pulses}})
	default:
		j.backend = client.New(client.Config{Worker: f.id.Index, Workers: f.id.Workers, Process: f.process,
			Servers: f.id.Servers,
			Layout:  j.layout, Rule: j.rule, Strategy: j.strategy, Fingerprint: j.fingerprint, Transport: j.transport,
			Logger: f.log, Pulses: &f.pulses})
	}
	return err
}

// suit completes a strategy for this kind of job, or returns an error for options that have no effect in it.
func suit(id rolemaker.Identity, s strategy.Strategy, rule optimizer.Rule) (strategy.Strategy, error) {
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
