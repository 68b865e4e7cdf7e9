package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// formatsJournal is what a server came to, as its job knows it, and what a server must be made of that comes to it
// again.
type formatsJournal struct {
	Mode        strategy.Mode
	Dir         string // in which the job ran: journals name checkpoints below it
	Servers     int
	Workers     int
	Strategy    strategy.Strategy
	Fingerprint []string
	// Values are all weights at the end of the journals, by the directory that has them.
	Values map[string]formatsValues
}

// writeJournals runs jobs whose servers keep a journal, in which everything happens that servers note, and copies the
// journals at some moments: before the job's first checkpoint, behind one, behind a load, and when worker 0 is about to
// save a last time. Frames of these jobs are kept too.
func writeJournals(t *testing.T) {
	var frames formatsFrames
	frames.narrow(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeGeo} {
		x := &formatsStory{dir: filepath.Join("journals", string(mode)), frames: &frames}
		x.formatsJournal = formatsJournal{Mode: mode, Dir: here, Servers: 2, Workers: 5, Values: map[string]formatsValues{}}
		x.run(t)
		text, err := json.Marshal(x.formatsJournal)
		if err == nil {
			err = os.WriteFile(filepath.Join(x.dir, "journal.json"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.MarshalIndent(frames.All, "", " ")
	if err == nil {
		err = os.WriteFile("frames.json", text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// formatsStory is a job with journals.
type formatsStory struct {
	formatsJournal
	dir    string
	frames *formatsFrames

	mu    sync.Mutex
	armed string // what is to be copied when the job is about to make a checkpoint whole
}

// formatsFrames are the first request and the first answer of every op.
type formatsFrames struct {
	mu   sync.Mutex
	of   string // encoding
	seen map[string]bool
	All  []formatsFrame
}

type formatsFrame struct {
	What  string
	Bytes []byte
}

// see takes a frame that is the first with those sections.
func (x *formatsFrames) see(what string, body []byte) {
	var f wire.Frame
	if len(body) < trial.Envelope || len(body) > 5000 || f.Parse(body[trial.Envelope:]) != nil {
		return
	}
	body = body[trial.Envelope:]
	what = fmt.Sprintf("%v %s%s, status %d", f.Op, x.of, what, f.Status)
	for _, s := range f.Sections {
		what += fmt.Sprintf(", kind %d", s.Kind)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.seen == nil {
		x.seen = map[string]bool{}
	}
	if !x.seen[what] {
		x.seen[what] = true
		x.All = append(x.All, formatsFrame{what, append([]byte(nil), body...)})
	}
}

// tap is a network all of whose frames are seen, and requests by another too.
func (x *formatsFrames) tap(below transport.Transport, also func([]byte) error) *trial.Tap {
	return &trial.Tap{Transport: below, Answer: func(body []byte) { x.see("answer", body) },
		Before: func(_ string, req [][]byte) error {
			body := bytes.Join(req, nil)
			x.see("request", body)
			return also(body)
		}}
}

// narrow trains with narrow gradients and small frames, and keeps what differs by that.
func (x *formatsFrames) narrow(t *testing.T) {
	for _, payload := range []strategy.Payload{strategy.PayloadFloat16, strategy.PayloadBFloat16, strategy.PayloadInt8} {
		x.of = string(payload) + " "
		s := strategy.Strategy{Mode: strategy.ModeSync, Payload: payload, MaxFrame: 4096}
		trial.Cluster(1, 1).Simulate(t, func(below transport.Transport) transport.Transport {
			return x.tap(below, func([]byte) error { return nil })
		}, func(ctx context.Context, f *fleet.Fleet) error {
			m := formatsModel()
			m.List = append(m.List, trial.Dense("wide", nil, 2200))
			return trial.Play(ctx, f, m, optimizer.SGD{LR: 0.1}, s, func() error {
				return m.InSession(ctx, func(s optimizer.Session) error {
					_, err := valuesOf(ctx, f, m)
					return errors.Join(err, formatsStep(ctx, s, m, 0, 0))
				})
			})
		})
	}
	x.of = ""
}

func (x *formatsStory) run(t *testing.T) {
	s := strategy.Strategy{Mode: x.Mode, MinBlockSize: 2, SmallBlocks: true}
	s.Recovery = strategy.Recovery{Dir: filepath.Join(x.dir, "own"), Every: strategy.Duration(time.Hour), Deltas: 2, Keep: 9,
		Journal: strategy.JournalMachine, JournalDir: filepath.Join(x.dir, "journal")}
	if x.Mode == strategy.ModeSync {
		s.Recovery.WorkerLost = strategy.WorkerGoOn
	}
	x.Strategy = s.WithDefaults()
	cluster := trial.Cluster(x.Servers, x.Workers)
	cluster.Options.Logger = slog.New(slog.DiscardHandler)
	var network transport.Transport
	cluster.Simulate(t, func(below transport.Transport) transport.Transport {
		network = x.frames.tap(below, x.committing)
		return network
	}, func(ctx context.Context, f *fleet.Fleet) error {
		err := x.role(ctx, f, network, s)
		if f.IsServer() && errors.Is(err, fleet.ErrWorkersDied) || errors.Is(err, errEndsEarly) {
			return nil
		}
		return err
	})
	if err := first(func() error { return os.RemoveAll(filepath.Join(x.dir, "journal")) },
		func() error { return os.RemoveAll(filepath.Join(x.dir, "own")) }); err != nil {
		t.Fatal(err)
	}
}

func (x *formatsStory) role(ctx context.Context, f *fleet.Fleet, network transport.Transport, s strategy.Strategy) error {
	own := &trial.Cable{Transport: network}
	if f.WorkerIndex() >= 3 { // ends early, or falls silent
		again, err := trial.Another(f, own)
		if err != nil {
			return err
		}
		defer again.Close()
		f = again
	}
	m, rule := formatsJournalJob(x.Mode)
	return trial.Play(ctx, f, m, rule, s, func() error {
		if f.WorkerIndex() == 0 {
			x.Fingerprint = f.Fingerprint()
		}
		return x.work(ctx, f, m, own)
	})
}

// formatsJournalJob is what trains in the jobs whose journals are kept. Package server has the same.
func formatsJournalJob(mode strategy.Mode) (*trial.Pulled, optimizer.Rule) {
	m := formatsModel()
	switch mode {
	case strategy.ModeGeo:
		for _, p := range m.List {
			p.Entry = optimizer.Entry{}
		}
		return m, optimizer.SGD{LR: 0.1}
	case strategy.ModeSync:
		return m, optimizer.ClipByGlobalNorm{Rule: formatsRule(), Norm: 2}
	}
	return m, formatsRule()
}

// work is what a worker does. Worker 2 stops early, worker 3 ends before its work is done, and worker 4 falls silent.
func (x *formatsStory) work(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, own *trial.Cable) error {
	w, next := f.WorkerIndex(), 0
	train := func(steps int) error { // no two workers at a time, so that updates have one order
		time.Sleep(time.Duration(3*w+1) * time.Millisecond)
		return m.InSession(ctx, func(s optimizer.Session) error {
			for ; steps > 0; steps, next = steps-1, next+1 {
				if err := formatsStep(ctx, s, m, next, w); err != nil {
					return err
				}
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		})
	}
	meet := func() error {
		return first(func() error { return m.Trainer.EndEpoch(ctx) }, func() error { return f.BarrierWorker(ctx) })
	}
	alone := func(do func() error) error { // by worker 0, while others wait
		return first(func() error { return f.BarrierWorker(ctx) }, func() error {
			if w > 0 {
				return nil
			}
			return do()
		}, func() error { return f.BarrierWorker(ctx) })
	}
	if err := first(func() error { return train(3) }, meet); err != nil || w == 2 {
		return err
	}
	switch w {
	case 3:
		f.Close()
		return errEndsEarly
	case 4:
		own.Kill()
		return errEndsEarly
	}
	time.Sleep(2 * time.Minute) // 3 and 4 are dead
	before := func() error { return x.deeds(ctx, f, m, train) }
	if err := first(func() error { return train(2) }, meet, func() error { return alone(before) },
		func() error { return train(2) }, meet,
		func() error { return alone(func() error { return x.now(ctx, f, m, "begins") }) },
		func() error { return alone(func() error { return x.load(ctx, f, m) }) },
		func() error { return alone(func() error { return f.Checkpoint(ctx) }) },
		func() error { return train(2) }, meet,
		func() error { return alone(func() error { return x.now(ctx, f, m, "goes-on") }) },
		func() error { return alone(func() error { return f.SetRateFactor(ctx, 0.25) }) },
		func() error { return alone(func() error { return x.arm(ctx, f, m, "stopping") }) }); err != nil {
		return err
	}
	if w == 1 {
		time.Sleep(time.Minute)
	}
	return nil
}

var errEndsEarly = errors.New("this worker ends early")

// load loads a param while the job runs, behind which the job saves a checkpoint.
func (x *formatsStory) load(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) error {
	if x.Mode == strategy.ModeGeo {
		return nil
	}
	return first(func() error { return x.arm(ctx, f, m, "loaded") },
		func() error { return f.LoadModel(ctx, filepath.Join(x.dir, "named"), "plain") },
		func() error { time.Sleep(time.Minute); return x.note(ctx, f, m, "loaded") })
}

// deeds are what servers note beside steps.
func (x *formatsStory) deeds(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, train func(int) error) error {
	at := func(name string) string { return filepath.Join(x.dir, name) }
	err := first(func() error { return f.SetRateFactor(ctx, 0.5) },
		func() error { return f.SetProgress(fleet.Progress{Epoch: 1, User: []byte("mine")}) },
		func() error { return f.SavePersistables(ctx, at("named")) },
		func() error {
			return failed(f.SaveModel(ctx, at("base"), fleet.SaveOptions{Mode: fleet.SaveBase, Model: m}))
		})
	if x.Mode == strategy.ModeGeo || err != nil {
		return err
	}
	return first(func() error {
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Decay: 0.9, Unseen: 5})
		return err
	}, func() error { return failed(f.SaveModel(ctx, at("day"), fleet.SaveOptions{Mode: fleet.SaveBatch})) })
}

// now keeps the journals as they are now.
func (x *formatsStory) now(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, name string) error {
	return first(func() error { return x.note(ctx, f, m, name) }, func() error { return x.copy(name) })
}

// arm keeps them when the job is about to make its next own checkpoint whole.
func (x *formatsStory) arm(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, name string) error {
	err := x.note(ctx, f, m, name)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.armed = name
	return err
}

// committing looks at a request.
func (x *formatsStory) committing(body []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.armed == "" || len(body) < trial.Envelope {
		return nil
	}
	if h, err := wire.ParseHeader(body[trial.Envelope:]); err != nil || h.Op != wire.OpOrder || !bytes.Contains(body, []byte(`"work":"write"`)) {
		return nil
	}
	name := x.armed
	x.armed = ""
	return x.copy(name)
}

// note notes what the weights are.
func (x *formatsStory) note(ctx context.Context, f *fleet.Fleet, m *trial.Pulled, name string) (err error) {
	x.Values[name], err = valuesOf(ctx, f, m)
	return err
}

// copy keeps the journals and checkpoints as they are now.
func (x *formatsStory) copy(name string) error {
	for _, part := range []string{"journal", "own"} {
		err := os.CopyFS(filepath.Join(x.dir, name, part), os.DirFS(filepath.Join(x.dir, part)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
