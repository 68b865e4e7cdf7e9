package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// heard is a network that tells of answers, before who asked has them.
type heard struct {
	transport.Transport
	of func(endpoint string, req [][]byte)
}

// Call implements [transport.Transport].
func (h *heard) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	return h.Transport.Call(ctx, endpoint, req, func(answer []byte) error {
		h.of(endpoint, req)
		return read(answer)
	})
}

// TestCheckpointRequestSurvivesServer0: server 1 is asked to end and has server 0 want a checkpoint. Server 0 is killed at that very
// moment, with the request or behind its answer, and comes back from its journal: it is asked again, so that nothing is lost, and server
// 1 does not wait in vain.
//
// Promise: [G6] a server that is asked to end gets its checkpoint though server 0 is killed meanwhile and comes back
func TestCheckpointRequestSurvivesServer0(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("with the request %t", before), func(t *testing.T) {
			dir := t.TempDir()
			s := journaled(strategy.Sync(), dir, strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			w := &wishing{strategy: s, before: before}
			w.run(t)
			if w.unsaved != nil || w.took == 0 || w.took > 20*time.Second {
				t.Errorf("server 1 ended after %v, unsaved %v: %v", w.took, w.unsaved, w.errs)
			}
			if c, err := checkpoints.Latest(filepath.Join(dir, "checkpoints")); err != nil || c.Step < w.steps {
				t.Errorf("the last checkpoint is %+v, %v, behind %d steps when server 1 was asked to end", c, err, w.steps)
			}
		})
	}
}

// wishing is a job of two servers, of which server 1 is asked to end, and server 0 dies when it has heard so.
type wishing struct {
	strategy strategy.Strategy
	before   bool // the request is lost with server 0, else it has answered

	once        sync.Once
	hit, killed chan struct{}
	trained     atomic.Int64
	steps       int64 // when server 1 was asked to end
	took        time.Duration
	unsaved     error
	errs        map[string]error
}

// note kills server 0 when server 1 has it want a checkpoint.
func (w *wishing) note(endpoint string, req [][]byte) {
	if endpoint == "server-0:1" && bytes.Contains(bytes.Join(req, nil), []byte(`"stops":true`)) {
		w.once.Do(func() {
			close(w.hit)
			<-w.killed
		})
	}
}

func (w *wishing) run(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.hit, w.killed = make(chan struct{}), make(chan struct{})
		cluster, network := quiet(2, 1)
		w.errs = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := trial.Counters(8, w.strategy, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				for range 200 {
					if err := c.Train(ctx, 1); err != nil {
						return err
					}
					w.trained.Add(1)
					time.Sleep(time.Second / 5)
				}
				return nil
			})
			switch {
			case !f.IsServer():
				return play(ctx, f)
			case f.ServerIndex() == 0:
				return w.dies(ctx, f, network, play)
			}
			return w.ends(ctx, f, network, play)
		})
	})
}

// dies plays server 0, and its second process.
func (w *wishing) dies(ctx context.Context, f *fleet.Fleet, network transport.Transport, play func(context.Context, *fleet.Fleet) error) error {
	own := &trial.Cable{Transport: network}
	first, err := trial.Another(f, own)
	if err != nil {
		return err
	}
	defer first.Close()
	alive, end := context.WithCancel(ctx)
	defer end()
	go func() {
		<-w.hit
		own.Kill()
		end()
		close(w.killed)
	}()
	_ = play(alive, first)
	return next(ctx, f, network, play)
}

// next plays the process of a role that is started in the place of one that has ended.
func next(ctx context.Context, f *fleet.Fleet, network transport.Transport, play func(context.Context, *fleet.Fleet) error) error {
	time.Sleep(50 * time.Millisecond)
	return trial.OnNetwork(ctx, f, network, play)
}

// ends plays server 1, which is asked to end.
func (w *wishing) ends(ctx context.Context, f *fleet.Fleet, network transport.Transport, play func(context.Context, *fleet.Fleet) error) error {
	var way transport.Transport = &heard{network, w.note}
	if w.before {
		way = &trial.Tap{Transport: network, Before: func(endpoint string, req [][]byte) error {
			w.note(endpoint, req)
			return nil
		}}
	}
	own, err := trial.Another(f, way)
	if err != nil {
		return err
	}
	defer own.Close()
	asked, end := context.WithCancel(ctx)
	defer end()
	var began time.Time
	time.AfterFunc(3*time.Second, func() {
		began, w.steps = time.Now(), w.trained.Load()
		end()
	})
	_ = play(asked, own)
	w.took, w.unsaved = time.Since(began), own.Unsaved()
	return next(ctx, f, network, play)
}
