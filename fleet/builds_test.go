package fleet_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// ofOldBuilds is a network on which some processes speak version 3 of the protocol: what they send has that version,
// and they read nothing else.
type ofOldBuilds struct {
	transport.Transport
	t *testing.T
	// sends and answers say of which processes' requests, to whom, that is so.
	sends, answers func(op wire.Op, to string) bool
}

func (o *ofOldBuilds) Call(ctx context.Context, to string, req [][]byte, read func([]byte) error) error {
	h, err := wire.ParseHeader(bytes.Join(req, nil)[trial.Envelope:])
	if err != nil {
		o.t.Error(err)
	}
	old, answered := o.sends(h.Op, to), o.answers(h.Op, to)
	if old {
		req = [][]byte{speaking(3, req...)}
	}
	return o.Transport.Call(ctx, to, req, func(body []byte) error {
		if answered {
			body = speaking(3, body)
		}
		return read(body)
	})
}

// speaking is a message of the version of the protocol, without a checksum of its envelope.
func speaking(version byte, parts ...[]byte) []byte {
	message := bytes.Join(parts, nil)
	clear(message[8:trial.Envelope])
	message[trial.Envelope+4] = version
	wire.Seal(message[trial.Envelope:])
	return message
}

// TestOtherBuilds: processes of a build of version 3 and of this one end at once, with a text that names both.
//
// Promise: [G12] processes of a build with another version of the protocol are refused at once, by a text that names
// both builds
func TestOtherBuilds(t *testing.T) {
	t.Parallel()
	worker := func(op wire.Op) bool { return op != wire.OpReport }
	none := func(wire.Op, string) bool { return false }
	for name, c := range map[string]struct {
		sends, answers func(op wire.Op, to string) bool
		who, of        string
	}{
		"an old worker":        {func(op wire.Op, _ string) bool { return worker(op) }, none, "worker 0", "server-0:1"},
		"old servers":          {none, func(op wire.Op, _ string) bool { return worker(op) }, "worker 0", ":1)"}, // of either
		"server 1 of this one": {none, func(op wire.Op, to string) bool { return !worker(op) && to == "server-0:1" }, "server 1", "server-0:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := trial.Cluster(2, 1)
			cluster.Options.Transport = &ofOldBuilds{transport.NewMemory(), t, c.sends, c.answers}
			plays := trial.Counters(3, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				return c.Train(ctx, 1)
			})
			all, end := context.WithCancel(t.Context())
			errs := cluster.Errors(t, func(_ context.Context, f *fleet.Fleet) error {
				defer end() // who is left has nobody to wait for
				return plays(all, f)
			})
			for _, says := range []string{"version 3 of the protocol (an earlier gofleet)", "version 6 (gofleet ", c.of} {
				if err := errs[c.who]; err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%s says %v, want %q", c.who, err, says)
				}
			}
		})
	}
}
