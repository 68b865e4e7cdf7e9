package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestTornRoundsAreTold has a worker die when its push has reached one of three servers, which has closed the round with it: the
// log says which servers count its gradient. When nobody had closed the round, it counts nowhere, and there is nothing to tell.
func TestTornRoundsAreTold(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for reached := range 3 {
		for _, closes := range []bool{true, false} {
			t.Run(fmt.Sprintf("server %d, closed %t", reached, closes), func(t *testing.T) {
				var net transport.Transport
				var dead chan struct{}
				log := new(trial.Log)
				c := fleettest.Cluster{Servers: 3, Workers: 2, Options: fleet.Options{Logger: log.Logger()}}
				inside := func(below transport.Transport) transport.Transport {
					net, dead = below, make(chan struct{})
					return net
				}
				c.Simulate(t, inside, func(ctx context.Context, f *fleet.Fleet) error {
					s, rule := strategy.Sync().WithDefaults(), optimizer.SGD{LR: 0.01}
					x := trial.Training{Rule: rule, Strategy: s, To: 2, Ahead: true}
					switch {
					case f.IsServer():
						if err := x.Run(ctx, f); !errors.Is(err, fleet.ErrWorkersDied) {
							return fmt.Errorf("%w, want ErrWorkersDied", err)
						}
						return nil
					case f.WorkerIndex() == 1:
						defer close(dead)
						if err := trial.DieHalfway(ctx, f, net, rule, s, reached); !errors.Is(err, trial.ErrPulled) {
							return fmt.Errorf("%w, want its silence", err)
						}
						return nil
					}
					x.After = func(ctx context.Context, _ *fleet.Fleet, o *trial.Toy) error {
						if !closes {
							<-dead // its push waits for worker 0's, until it is declared dead
						}
						for i := range 3 {
							if err := o.Train(ctx, trial.Samples(8, 2+i), nil); err != nil {
								return err
							}
						}
						return nil
					}
					return x.Run(ctx, f)
				})
				text := log.String()
				const message = "the last gradient of a dead worker is in the weights of some servers"
				var others []int
				for i := range 3 {
					if i != reached {
						others = append(others, i)
					}
				}
				if want := fmt.Sprintf(`worker=1 round=0.2 with=[%d] without="%v"`, reached, others); closes != strings.Contains(text, want) || closes != strings.Contains(text, message) {
					t.Errorf("closed %t, and the log says:\n%s\nwant %s", closes, text, want)
				}
			})
		}
	}
}
