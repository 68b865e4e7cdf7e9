package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/transport"
)

// stage is a program that is played.
type stage struct {
	p    Program
	dir  string
	life int
	net  transport.Transport

	mu      sync.Mutex // guards what follows
	log     lines
	actors  map[string]*actor // the processes that live
	struck  map[int]bool      // strikes of the life that have come
	errs    map[string]error  // with which the roles of the life have ended
	chain   []string          // the base that was published last, and its deltas
	left    Left
	crowded string // which process has had more rows than its table may have
}

// Left is what a job has left, as its leading worker has it at its end.
type Left struct {
	History []train.Evaluation
	Factor  float64 // of the rate
	Stopped bool
	Seen    seen
	Chain   []string
}

// lines are those that roles print and log, of all lives.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "examples/s") {
			fmt.Fprintf(&l.b, "%s %s", time.Now().Format("04:05.000"), line)
		}
	}
	return len(b), nil
}

func (l *lines) last(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(strings.TrimSpace(l.b.String()), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}

// actor is a process.
type actor struct {
	*stage
	name   string
	f      *fleet.Fleet
	cable  *trial.Cable
	end    context.CancelCauseFunc
	fate   error          // why it ends, nil as long as it lives; guarded by the stage
	away   time.Duration  // until it is started again alone
	counts map[string]int // how often it has come to each place
	seen   seen
}

var (
	errKilled = errors.New("killed")
	errAsked  = errors.New("asked to end")
	errHook   = errors.New("the hook has failed")
	errHangs  = errors.New("the life hangs")
)

// longest is the virtual time that a life may take.
const longest = 6 * time.Hour

// Play plays all lives.
func (p Program) Play(t *testing.T, dir string) (*stage, error) {
	s := &stage{p: p, dir: dir}
	if err := errors.Join(s.first(), s.writeDays()); err != nil {
		return s, err
	}
	for i, l := range p.Lives {
		s.life = i
		s.log.Write(fmt.Appendf(nil, "life %d\n", i))
		for try := 0; try < 3; try++ {
			synctest.Test(t, func(*testing.T) { s.live(l) })
			if !p.Journal || len(l.Strikes) > 0 || !s.again() {
				break
			}
		}
		for role, err := range s.errs {
			switch {
			case errors.Is(err, errHangs):
			case err == nil, len(l.Strikes) > 0 && !strings.Contains(err.Error(), "different calls"):
				continue
			}
			return s, fmt.Errorf("life %d: %s ends with: %w", i, role, err)
		}
	}
	if s.left.Chain = s.chain; p.Days > 0 && p.Publishes {
		base, _, err := modelfiles.ReadCurrent(filepath.Join(dir, "published"))
		s.left.Chain = []string{base}
		return s, err
	}
	return s, nil
}

// again says whether roles of a life say that the job is to be started again: servers that return from a journal have
// a worker in step that nobody saw die.
func (s *stage) again() bool {
	for _, err := range s.errs {
		if err != nil && strings.Contains(err.Error(), "start the job again from its last checkpoint") {
			return true
		}
	}
	return false
}

// first saves what the job begins from: one step of the marker.
func (s *stage) first() error {
	ctx := context.Background()
	f, err := fleet.New(ctx, rolemaker.Local{}, fleet.Options{Logger: s.logger("first")})
	if err != nil {
		return err
	}
	defer f.Close()
	loss, _ := s.p.Model.Loop()
	opt, err := f.DistributedOptimizer(s.p.Rules.Door(), s.p.strategy(Life{Workers: 1}, filepath.Join(s.dir, "none")))
	if err = errors.Join(err); err != nil {
		return err
	}
	if err := errors.Join(opt.Minimize(loss), f.InitWorker(ctx)); err != nil {
		return err
	}
	exe := nn.NewExecutor(loss.Graph())
	for batch, err := range s.p.Model.Rows(marker, 1).Batches(1) {
		if err != nil {
			return err
		}
		if _, err := exe.Train(ctx, batch); err != nil {
			return err
		}
	}
	return errors.Join(exe.Close(ctx), f.SavePersistables(ctx, filepath.Join(s.dir, "first")))
}

func (s *stage) logger(name string) *slog.Logger {
	o := slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	return slog.New(slog.NewTextHandler(&s.log, &o)).With("at", name)
}

// live plays one life.
func (s *stage) live(l Life) {
	s.net, s.actors, s.struck, s.errs = transport.NewMemory(), map[string]*actor{}, map[int]bool{}, map[string]error{}
	ctx, cancel := context.WithTimeoutCause(context.Background(), longest, errHangs)
	defer cancel()
	var all sync.WaitGroup
	for name, maker := range s.p.leg(l).Roles() {
		all.Go(func() {
			for {
				away, err := s.process(ctx, name, maker)
				fmt.Fprintf(&s.log, "%s ends: %v\n", name, err)
				if ctx.Err() != nil && err != nil {
					err = errors.Join(errHangs, err)
				}
				if away > 0 {
					time.Sleep(away)
					continue
				}
				s.mu.Lock()
				s.errs[name] = err
				s.mu.Unlock()
				return
			}
		})
	}
	all.Wait()
	for _, strike := range l.Strikes {
		if strike.Kind == "pause" { // until what reached it meanwhile is answered
			time.Sleep(strike.Away)
		}
	}
}

// process is one process of a role; away is until it is started again, if it is.
func (s *stage) process(ctx context.Context, name string, maker rolemaker.RoleMaker) (away time.Duration, err error) {
	a := &actor{stage: s, name: name, cable: &trial.Cable{Transport: s.net}, counts: map[string]int{}}
	ctx, a.end = context.WithCancelCause(ctx)
	defer a.end(nil)
	if a.f, err = fleet.New(ctx, maker, fleet.Options{Transport: a.cable, Logger: s.logger(name)}); err != nil {
		return 0, err
	}
	defer a.f.Close()
	s.mu.Lock()
	s.actors[name] = a
	s.mu.Unlock()
	j := a.job()
	res, err := j.Run(ctx, a.f)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && a.f.IsWorker() {
		s.left.Stopped = res.Stopped != ""
	}
	delete(s.actors, name)
	return a.away, err
}

// at is called where strikes may come.
func (a *actor) at(place string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looksAtRows()
	a.counts[place]++
	for i, s := range a.p.Lives[a.life].Strikes {
		if !a.struck[i] && s.At == place && a.name == fmt.Sprintf("worker %d", s.By) && a.counts[place] >= s.Step {
			a.struck[i] = true
			fmt.Fprintf(&a.log, "%s of %s, at %s %d of %s\n", s.Kind, s.Role, place, a.counts[place], a.name)
			a.strike(s)
		}
	}
	return a.fate
}

// looksAtRows looks whether processes have more rows than fit; the stage is locked.
func (s *stage) looksAtRows() {
	if s.p.Model.More.MaxBytes == 0 {
		return
	}
	for name, a := range s.actors {
		for _, t := range a.f.Stats().Tables {
			if t.Name == twin.PooledName && t.Rows > t.MaxBytes/leastRowBytes {
				s.crowded = fmt.Sprintf("%s has %d rows in %d bytes", name, t.Rows, t.MaxBytes)
			}
		}
	}
}

// leastRowBytes are those of a row of two weights without a state.
const leastRowBytes = 56

// strike strikes who lives; the stage is locked.
func (a *actor) strike(s Strike) {
	for name, b := range a.actors {
		if s.Role != "all" && name != s.Role || b.fate != nil {
			continue
		}
		if s.Kind == "pause" {
			b.cable.Pause(s.Away)
			continue
		}
		b.away = s.Away
		switch s.Kind {
		case "end":
			b.end(errAsked)
			continue // and the hook goes on
		case "fail":
			b.fate = errHook
		default:
			b.fate = errKilled
			b.cable.Kill()
			if b.f.ServerNum() > 0 { // one without servers would save a checkpoint when its context ends
				b.end(errKilled)
			}
		}
	}
}
