package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestTheLastGradientOfTheDead has worker 1 die when its push for a round has come to some of three servers, and worker 0's for the same
// round to some, in every combination; what was on its way then of the one or of the other comes between server 0's two orders, or later.
// Where a server had closed the round, the gradient of the dead counts on all servers that had it; where none had, on all or on none, and
// nowhere where it came later. The log has exactly the rounds that are torn.
func TestTheLastGradientOfTheDead(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	for _, reached := range trial.Some(t, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		for _, others := range trial.Some(t, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			for _, between := range []string{"nothing", "its own", "worker 0's"} {
				j := &lastGradient{reached: reached, others: others, between: between}
				t.Run(fmt.Sprintf("on %03b, worker 0's on %03b, between %s", reached, others, between), j.run)
			}
		}
	}
}

// lastGradient is such a job; sets of servers have a bit each.
type lastGradient struct {
	reached, others int    // servers that have the last push of worker 1, and worker 0's of the same round
	between         string // what comes to a server between the two orders

	dying  *deathbed
	once   sync.Once
	open   chan struct{} // closed when worker 0's pushes go to all
	counts [][]float32
}

// lastSilence is longer than a death takes to be noticed.
const lastServers, lastSilence = 3, 8 * time.Second

var lastStrategy = strategy.Strategy{Mode: strategy.ModeSync, NoSlice: true, WorkerTimeout: strategy.Duration(4 * time.Second)}

// counted are the servers on which the last push of worker 1 must count.
func (j *lastGradient) counted() int {
	const all = 1<<lastServers - 1
	if closed := j.reached & j.others; closed != 0 || j.reached == all {
		return j.reached
	}
	return 0
}

func (j *lastGradient) run(t *testing.T) {
	log := new(trial.Log)
	synctest.Test(t, func(t *testing.T) {
		j.open = make(chan struct{})
		var network transport.Transport = transport.NewMemory()
		j.dying = &deathbed{Transport: network, reaches: inSet(j.reached), held: map[string][]byte{}}
		drops := trial.Requests(t, "", "drop")
		network = &trial.Tap{Transport: network, Before: func(endpoint string, req [][]byte) error {
			if !drops(endpoint, req) {
				return nil
			}
			switch j.between {
			case "its own":
				j.dying.deliver(endpoint)
			case "worker 0's":
				j.opens()
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		}}
		c := trial.Cluster(lastServers, 2)
		c.Options.Transport, c.Options.Logger = network, log.Logger()
		for role, err := range c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error { return j.play(ctx, f, network) }) {
			if dies := role != "worker 0"; err != nil && !dies || dies && err == nil {
				t.Errorf("%s: %v", role, err)
			}
		}
		j.dying.sending.Wait()
	})
	const number = 101 // the second push of worker 1
	counted := 0
	for s, weights := range j.counts {
		if weights[number] != 0 {
			counted |= 1 << s
		}
	}
	if want := j.counted(); counted != want || len(j.counts) == 0 {
		t.Errorf("the gradient counts on servers %03b, want %03b", counted, want)
	}
	torn := strings.Contains(log.String(), "the last gradient of a dead worker is in the weights of some servers")
	if want := j.counted() != 0 && j.counted() != 1<<lastServers-1; torn != want {
		t.Errorf("the log speaks of a torn round: %t, want %t", torn, want)
	}
}

func (j *lastGradient) opens() { j.once.Do(func() { close(j.open) }) }

// inSet says whether a server is in a set.
func inSet(set int) func(endpoint string) bool {
	return func(endpoint string) bool {
		for s := range lastServers {
			if endpoint == fmt.Sprintf("server-%d:1", s) {
				return set>>s&1 == 1
			}
		}
		return false
	}
}

// play makes two rounds, of which worker 1 dies in the second.
func (j *lastGradient) play(ctx context.Context, f *fleet.Fleet, network transport.Transport) error {
	gate := &gate{Transport: network, passes: inSet(j.others), open: j.open}
	last := func() { gate.shut.Store(true); time.AfterFunc(lastSilence, j.opens) }
	if f.IsWorker() {
		var way transport.Transport = gate
		if f.WorkerIndex() == 1 {
			way, last = j.dying, func() { j.dying.last.Store(true) }
		}
		own, err := trial.Another(f, way)
		if err != nil {
			return err
		}
		defer own.Close()
		f = own
	}
	w := (&mortal{servers: lastServers}).weights()
	if worker, err := trial.Join(ctx, f, w, optimizer.SGD{LR: 1}, lastStrategy); !worker {
		return err
	}
	err := w.InSession(ctx, func(s optimizer.Session) error {
		return errors.Join(trial.Step(ctx, s, w.push(100*f.WorkerIndex(), 6), nil), trial.Step(ctx, s, w.push(100*f.WorkerIndex()+1, 6), last))
	})
	if err != nil {
		return err
	}
	time.Sleep(lastSilence)
	if j.counts, err = w.look(ctx, nil); err != nil {
		return err
	}
	j.counts = slices.Clone(j.counts[:lastServers])
	return f.StopWorker(ctx)
}

// TestALifeThatSomeServersRefuse has worker 1 die when its first push has come to server 1 alone. Its next process joins at server 0, where the
// life before has done nothing, and is refused by server 1: worker 0 does not wait for either.
func TestALifeThatSomeServersRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := transport.NewMemory()
		dying := &deathbed{Transport: network, reaches: func(endpoint string) bool { return endpoint == "server-1:1" }, held: map[string][]byte{}}
		c := trial.Cluster(2, 2)
		c.Options.Transport, c.Options.Logger = network, slog.New(slog.DiscardHandler)
		began := time.Now()
		for role, err := range c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			count := func(f *fleet.Fleet) error {
				c := trial.NewCounter(5)
				return c.Play(ctx, f, lastStrategy, func() error { return c.Train(ctx, 3) })
			}
			if f.WorkerIndex() != 1 {
				return count(f)
			}
			own, err := trial.Another(f, dying)
			if err != nil {
				return err
			}
			first := trial.NewCounter(5)
			if _, err := first.Join(ctx, own, lastStrategy); err != nil {
				return err
			}
			mortal, end := context.WithTimeout(ctx, time.Second)
			defer end()
			if err := first.InSession(mortal, func(s optimizer.Session) error {
				return trial.Step(mortal, s, first.Step(), func() { dying.last.Store(true) })
			}); err == nil {
				return errors.New("its push was answered")
			}
			own.Close()
			time.Sleep(3 * time.Second)
			if err := count(f); err == nil || !strings.Contains(err.Error(), "in step no other process goes on for it") {
				return fmt.Errorf("its next process: %v, want it to be refused", err)
			}
			return nil
		}) {
			if died := errors.Is(err, fleet.ErrWorkersDied); died != strings.HasPrefix(role, "server") || !died && err != nil {
				t.Errorf("%s: %v", role, err)
			}
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		dying.sending.Wait()
	})
}

// isPush says whether a message is a push, or a piece of it.
func isPush(req [][]byte) bool {
	name := trial.NameOf(req)
	return strings.HasPrefix(name, "step ") && !strings.HasPrefix(name, "step 0 ")
}

// anyPush is isPush of a request to any endpoint.
func anyPush(_ string, req [][]byte) bool { return isPush(req) }

// deathbed is a worker's way to the network on which, from its last push on, nothing gets through but that push to some servers. What it
// sends to others is held.
type deathbed struct {
	transport.Transport
	reaches func(endpoint string) bool
	last    atomic.Bool
	sending sync.WaitGroup

	mu   sync.Mutex
	held map[string][]byte // by endpoint; nil for what was sent
}

// Call implements [transport.Transport].
func (d *deathbed) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if !d.last.Load() {
		return d.Transport.Call(ctx, endpoint, req, read)
	}
	if isPush(req) {
		d.mu.Lock()
		_, again := d.held[endpoint]
		if !again {
			d.held[endpoint] = bytes.Join(req, nil)
		}
		d.mu.Unlock()
		if !again && d.reaches(endpoint) {
			d.deliver(endpoint)
		}
	}
	return trial.ErrPulled
}

// deliver sends what was held for an endpoint, if anything was.
func (d *deathbed) deliver(endpoint string) {
	d.mu.Lock()
	body := d.held[endpoint]
	if body != nil {
		d.held[endpoint] = nil
	}
	d.mu.Unlock()
	if body != nil {
		d.sending.Go(func() {
			_ = d.Transport.Call(context.Background(), endpoint, [][]byte{body}, func([]byte) error { return nil })
		})
	}
}

// gate is a worker's way to the network that, when shut, lets pushes through to some servers alone until it opens.
type gate struct {
	transport.Transport
	passes func(endpoint string) bool
	shut   atomic.Bool
	open   chan struct{}
}

// Call implements [transport.Transport].
func (g *gate) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if g.shut.Load() && isPush(req) && !g.passes(endpoint) {
		select {
		case <-g.open:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return g.Transport.Call(ctx, endpoint, req, read)
}
