package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// logged is a log that a test reads; roles write to it at once.
type logged struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// TestTornRoundsAreTold has a worker die when its push has reached one of three servers, which has closed the round with it: the log says
// which servers count its gradient. When nobody had closed the round, it counts nowhere, and there is nothing to tell.
func TestTornRoundsAreTold(t *testing.T) {
	for reached := range 3 {
		for _, closes := range []bool{true, false} {
			t.Run(fmt.Sprintf("server %d, closed %t", reached, closes), func(t *testing.T) {
				var net transport.Transport
				var dead chan struct{}
				log := new(logged)
				c := fleettest.Cluster{Servers: 3, Workers: 2, Options: fleet.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}}
				inside := func(below transport.Transport) transport.Transport {
					net, dead = below, make(chan struct{})
					return net
				}
				c.Simulate(t, inside, func(ctx context.Context, f *fleet.Fleet) error {
					s, rule := strategy.Sync().WithDefaults(), optimizer.SGD{LR: 0.01}
					switch {
					case f.IsServer():
						if err := train(ctx, f, rule, s, 0, nil); !errors.Is(err, fleet.ErrWorkersDied) {
							return fmt.Errorf("%w, want ErrWorkersDied", err)
						}
						return nil
					case f.WorkerIndex() == 1:
						defer close(dead)
						if err := dieHalfway(ctx, f, net, rule, s, reached); !errors.Is(err, errPulled) {
							return fmt.Errorf("%w, want its silence", err)
						}
						return nil
					}
					return train(ctx, f, rule, s, 2, func(o *toy) error {
						if !closes {
							<-dead // its push waits for worker 0's, until it is declared dead
						}
						return o.again(ctx, 3)
					})
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

// again makes some steps in a session of their own.
func (o *toy) again(ctx context.Context, steps int) error {
	o.session = nil
	for i := range steps {
		if err := o.train(ctx, samples(8, 2+i), nil); err != nil {
			return err
		}
	}
	return o.session.Close(ctx)
}
