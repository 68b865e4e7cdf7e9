package server

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Config configures a server. All fields are required but Process, Stays, ReadRows and Pulses.
type Config struct {
	// Index is this server's place among the endpoints.
	Index int
	// Workers is the number of workers in the job, whether they have joined or not.
	Workers int
	// Process distinguishes this process from others that take the server's place, and on server 0 makes the keys of
	// the job; 0 means a random number.
	Process uint64
	// Endpoints are those of all servers; Endpoints[Index] is this one's.
	Endpoints []string
	// Layout assigns params and rows to servers. All processes compute the same one.
	Layout *layout.Layout
	Rule   optimizer.Rule
	// Strategy has its defaults filled in.
	Strategy    strategy.Strategy
	Fingerprint layout.Fingerprint
	Transport   transport.Transport
	Logger      *slog.Logger
	// Stays reports that a server which ends is started again whatever its status, so that it waits after the end of a
	// job.
	Stays bool
	// ReadRows is the number of rows a second that readers outside the job may read here; 0 means DefaultReadRows.
	ReadRows int
	// Pulses report whether the server still makes progress.
	Pulses *awake.Pulses
}

// onHost is how many servers have this one's host, and so, for all it knows, its control group.
func (c *Config) onHost() (n int64) {
	hostOf := func(endpoint string) string { return endpoint[:max(0, strings.LastIndexByte(endpoint, ':'))] }
	for _, e := range c.Endpoints {
		if hostOf(e) == hostOf(c.Endpoints[c.Index]) {
			n++
		}
	}
	return n
}

// alone is how long the others do not go on without a worker that has announced its end. It is 0 unless the job works
// in rounds and saves checkpoints: then a checkpoint of all workers must equal one of an undisturbed job, and it may
// take that long until all roles have been asked to end.
func (c *Config) alone(traits mode.Traits) time.Duration {
	if !traits.Rounds || c.Strategy.Recovery.Dir == "" {
		return 0
	}
	return 3 * c.Strategy.HeartbeatInterval.Std()
}

// stateOptions are the options of the job's state on this server. end ends the waits of updates for other servers when
// the job fails.
func (c *Config) stateOptions(traits mode.Traits, log *slog.Logger, end context.CancelFunc) state.Options {
	job := c.Strategy
	timeout := job.WorkerTimeout.Std()
	return state.Options{
		Servers: len(c.Endpoints),
		Roster: roster.Options{
			Server:    c.Index,
			Endpoint:  c.Endpoints[c.Index],
			Workers:   c.Workers,
			Mode:      string(c.Strategy.Mode),
			Lockstep:  traits.Lockstep,
			Timeout:   timeout,
			Start:     job.StartTimeout.Std(),
			Heartbeat: job.HeartbeatInterval.Std(),
			Alone:     c.alone(traits),
			Back:      c.Strategy.WorkersReturn().Std(),
		},
		Mode:    traits.NewServer(c.Workers, c.Strategy.Staleness),
		Clock:   awake.NewClock(timeout/4, time.Now),
		Wait:    job.WaitTimeout.Std(),
		Longest: c.Strategy.LongestWait().Std(),
		Returns: job.Recovery.Journal != "",
		Log:     log,
		End:     end,
	}
}

// serverRule is the rule that the server applies to pushes of a param: in geo the workers have applied the param's rule
// already, and if they may add gradients up, they have limited each. nil is for a param that no rule changes.
func (c *Config) serverRule(p *optimizer.Param) optimizer.Rule {
	rule := rules.For(c.Rule, p)
	switch {
	case rule == nil:
		return nil
	case mode.Of(c.Strategy.Mode).Copies:
		return mode.Sum{Of: c.Rule.Name()}
	case c.Strategy.Sums(rules.Additive(rule)):
		return rules.Unlimited(rule)
	}
	return rule
}
