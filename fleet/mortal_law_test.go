package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// TestMortalJobs draws jobs by seed whose servers and workers are killed, one or several, and started again, or not; which are cut off from
// each other and meet again; whose dead send messages still when others have their places. Every push counts as trial.Ledger has it, every job
// comes to its end, and one whose servers come back with their journals goes back to no checkpoint without a reason. FLEET_SEEDS=10000 draws that many; FLEET_SEED=n draws the one that failed.
//
// Promise: [G1] in jobs of every mode whose servers and workers are killed, cut off and restarted by seed, while the
// dead still send, no push is lost, doubled, mixed, or of an earlier run or life; every job ends
//
// Promise: [G1] with journals, no role of a job that is killed by seed goes back to a checkpoint without a reason
func TestMortalJobs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	jobs, blows, pushes, generations, from := 0, 0, 0, 0, 0
	trial.EachSeed(t, 40, func(seed trial.Seed) {
		m := drawMortal(seed, t.TempDir())
		t.Run(fmt.Sprint(seed.N), m.run)
		for _, all := range m.blows {
			blows += len(all)
		}
		p, g, f := m.ledger.Counts()
		jobs, pushes, generations, from = jobs+1, pushes+p, generations+g, from+f
	})
	t.Logf("%d jobs, %d blows: %d pushes in %d generations, of which %d went on from pushes of earlier ones", jobs, blows, pushes, generations, from)
}

// run runs the job in virtual time, and looks at what it has left.
func (m *mortal) run(t *testing.T) {
	var log trial.Log
	defer func() {
		if t.Failed() {
			t.Logf("run it again with FLEET_SEED=%d go test ./fleet -run '^TestMortalJobs$': %s, %d servers, %d workers, faults %t, recovery %+v\n%v\n%s",
				m.seed.N, m.strategy.Mode, m.servers, m.workers, m.faults, m.strategy.Recovery, m.blows, log.String())
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		m.network = m.faulty(transport.NewMemory())
		m.operator = operator{servers: m.servers, workers: m.workers, done: map[string]bool{}, ended: map[string]bool{}, changed: make(chan struct{})}
		c := trial.Cluster(m.servers, m.workers)
		c.Options.Transport, c.Options.Logger = m.network, log.Logger()
		trial.NoErrors(t, c.Errors(t, m.play))
		m.zombies.Wait()
	})
	if _, generations, _ := m.ledger.Counts(); generations > 1 && m.keeps() && !m.parted {
		t.Errorf("the job went back, and began %d times", generations)
	}
	if !t.Failed() {
		m.left(t)
	}
}

// faulty is the network of the job.
func (m *mortal) faulty(below transport.Transport) transport.Transport {
	if m.faults {
		return m.seed.Network(below)
	}
	f := transporttest.NewFaulty(below, m.seed.N, transporttest.Faults{Latency: time.Millisecond})
	f.Name = trial.NameOf
	return f
}

// left compares the newest checkpoint with the ledger.
func (m *mortal) left(t *testing.T) {
	newest, err := checkpoints.Latest(m.strategy.Recovery.Dir)
	if err != nil {
		t.Error(err)
		return
	}
	err = fleettest.Cluster{Options: fleet.Options{Logger: slog.New(slog.DiscardHandler)}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		s := m.strategy
		s = strategy.Strategy{NoSlice: s.NoSlice}
		w := m.weights()
		if err := trial.Minimize(f, w, optimizer.SGD{LR: 1}, s); err != nil {
			return err
		}
		if err := f.LoadModel(ctx, newest.Dir); err != nil {
			return err
		}
		servers, err := w.look(ctx, nil)
		for _, weights := range servers {
			err = errors.Join(err, m.ledger.Left(weights))
		}
		return err
	})["worker 0"]
	if err != nil {
		t.Errorf("%s: %v", newest.Dir, err)
	}
}

// errFound says that weights are wrong.
var errFound = errors.New("found")

// marks are weights of which each push of a job has one on every server, and a row.
type marks struct {
	trial.Objective
	servers []*optimizer.Param
	rows    *optimizer.Param
	ids     []uint64
}

func (m *mortal) weights() *marks {
	w := &marks{rows: trial.Embedding("rows", nil, 0, 1)}
	for s := range m.servers {
		w.servers = append(w.servers, trial.Dense(fmt.Sprint("server", s), nil, mortalPushes))
	}
	for id := range uint64(mortalPushes) {
		w.ids = append(w.ids, id)
	}
	w.List = append(append(w.List, w.servers...), w.rows)
	return w
}

// push is the step that makes a push.
func (w *marks) push(number int, full float32) *optimizer.Step {
	for _, p := range w.servers {
		clear(p.G)
		p.G[number] = -full
	}
	r := trial.RowsOf(w.rows, w.ids[number:number+1])
	r.G[0] = -full
	return &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}
}

// look brings all weights, of every server and of the rows. A nil session is one of its own.
func (w *marks) look(ctx context.Context, s optimizer.Session) (servers [][]float32, err error) {
	if s == nil {
		err = w.InSession(ctx, func(s optimizer.Session) error {
			servers, err = w.look(ctx, s)
			return err
		})
		return servers, err
	}
	rows := trial.RowsOf(w.rows, w.ids)
	if err := trial.Look(ctx, s, rows); err != nil {
		return nil, err
	}
	for _, p := range w.servers {
		servers = append(servers, append([]float32(nil), p.W...))
	}
	return append(servers, rows.W), nil
}

// live is one process of a role.
func (m *mortal) live(ctx context.Context, f *fleet.Fleet, p *mortalProcess) error {
	w, sight := m.weights(), m.ledger.Look()
	if worker, err := trial.Join(ctx, f, w, optimizer.SGD{LR: 1}, m.strategy); !worker {
		return err
	}
	generation := p.arrival.Generation()
	p.own = m.ledger.Process(p.name, f.WorkerIndex(), generation)
	defer p.own.Died()
	var began [][]float32
	for _, param := range w.servers {
		began = append(began, append([]float32(nil), param.W...))
	}
	if err := found(sight.Saw(generation, began)); err != nil {
		return err
	}
	p.own.Joined(began)
	err := w.InSession(ctx, func(s optimizer.Session) error { return m.train(ctx, f, w, s, p.own) })
	if err != nil {
		return err
	}
	if !m.ledger.Parts {
		p.own.Settled()
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	p.own.Settled()
	sight = m.ledger.Look()
	if err := f.BarrierWorker(ctx); err != nil { // in mode geo workers see then what servers have
		return err
	}
	if err := m.looks(ctx, w, nil, p.own, sight); err != nil {
		return err
	}
	if err := f.StopWorker(ctx); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.parted = true
		return err
	}
	p.own.Stopped()
	return nil
}

func found(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errFound, err)
	}
	return nil
}

// train makes the pushes of a process.
func (m *mortal) train(ctx context.Context, f *fleet.Fleet, w *marks, s optimizer.Session, p *trial.Process) error {
	r := rand.New(rand.NewPCG(m.seed.N, uint64(100+f.WorkerIndex())))
	for range m.steps {
		number := p.Push()
		if number >= mortalPushes {
			return found(fmt.Errorf("%d pushes are more than the test has room for", number))
		}
		st := w.push(number, m.ledger.Full)
		pause := time.Duration(100+r.IntN(2000)) * time.Millisecond
		if err := s.Begin(ctx, st); err != nil {
			return err
		}
		time.Sleep(pause)
		if err := s.End(ctx, st); err != nil {
			return err
		}
		if m.strategy.Mode == strategy.ModeSync {
			p.Acknowledged(int(f.Stats().Counts.Steps))
		}
		switch what := r.IntN(6); {
		case what == 0:
			sight := m.ledger.Look()
			if f.Checkpoint(ctx) == nil {
				sight.Saved(p.Generation)
			}
		case what == 1 && !m.ledger.Parts:
			if err := m.looks(ctx, w, s, p, m.ledger.Look()); err != nil {
				return err
			}
		}
	}
	return nil
}

// looks compares all weights with the ledger, as it was before.
func (m *mortal) looks(ctx context.Context, w *marks, s optimizer.Session, p *trial.Process, before *trial.Sight) error {
	servers, err := w.look(ctx, s)
	if err != nil {
		return err
	}
	return found(before.Saw(p.Generation, servers))
}
