package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// course is a job that ends as a whole at some moment, with a checkpoint of then, and goes on; and what each worker's
// hooks are called for.
type course struct {
	Mode                       string
	Servers, Workers           int
	Rows, Batch, Every, Epochs int
	Where                      string // it ends: "step", "evaluated" or "ended", "" if it does not
	Epoch, Step                int

	mu    sync.Mutex
	calls [][]string
	steps []int // of each worker since its last call
}

func drawCourse(seed uint64) *course {
	r := rand.New(rand.NewPCG(seed, 11))
	c := &course{Mode: "sync", Servers: r.IntN(3), Workers: 1 + r.IntN(3), Rows: 60 + r.IntN(100), Batch: 5 + r.IntN(12), Every: r.IntN(4), Epochs: 2 + r.IntN(2),
		Where: []string{"", "step", "evaluated", "ended"}[r.IntN(4)]}
	c.Epoch, c.Step = r.IntN(c.Epochs), 1+r.IntN(max(1, c.Rows/c.Workers/c.Batch-1))
	if c.Servers > 0 && c.Where != "step" { // out of step some of the last gradients are on their way then
		c.Mode = []string{"sync", "async", "half_async", "ssp", "geo"}[r.IntN(5)]
	}
	return c
}

// note writes down a call, behind the steps since the one before, and reports whether the job ends there.
func (c *course) note(worker, epoch int, where, text string) (ends bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if where == "step" {
		c.steps[worker]++
		return c.Where == where && epoch == c.Epoch && text == fmt.Sprint(c.Step)
	}
	if n := c.steps[worker]; n > 0 {
		c.calls[worker], c.steps[worker] = append(c.calls[worker], fmt.Sprintf("%d steps", n)), 0
	}
	c.calls[worker] = append(c.calls[worker], text)
	return c.Where == where && epoch == c.Epoch
}

// begin begins a run of the job, the second of which does not end.
func (c *course) begin(again bool) {
	c.calls, c.steps = make([][]string, c.Workers), make([]int, c.Workers)
	if again {
		c.Where = ""
	}
}

// play runs the job, as it is today.
func (c *course) play(t *testing.T, dir string) {
	enough := errors.New("enough")
	errs := fleettest.Cluster{Servers: c.Servers, Workers: c.Workers}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		j := job(train.Options{Mode: c.Mode, Epochs: c.Epochs, Batch: c.Batch, EvalEvery: c.Every, Checkpoint: dir})
		j.Data, j.Stdout, j.Rule = data(c.Rows, 20), io.Discard, optimizer.SGD{LR: 0.05}
		note := func(ctx context.Context, r *train.Run, where, text string) error {
			if !c.note(r.Fleet.WorkerIndex(), r.Epoch, where, text) {
				return nil
			}
			if err := r.Fleet.BarrierWorker(ctx); err != nil {
				return err
			}
			if r.Fleet.IsFirstWorker() {
				if err := r.Fleet.Checkpoint(ctx); err != nil {
					return err
				}
			}
			return errors.Join(r.Fleet.BarrierWorker(ctx), enough)
		}
		j.Hooks = []train.Hooks{{
			EpochBegin: func(ctx context.Context, r *train.Run) error {
				return note(ctx, r, "begins", fmt.Sprint("begins ", r.Epoch))
			},
			Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
				return note(ctx, r, "step", fmt.Sprint(so.Steps))
			},
			Evaluated: func(ctx context.Context, r *train.Run, e train.Evaluation) error {
				return note(ctx, r, "evaluated", fmt.Sprintf("evaluation %d of %d, end %t", len(r.History), e.Examples, e.End))
			},
			EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
				return note(ctx, r, "ended", fmt.Sprintf("ends %d, again %t", r.Epoch, r.Again))
			},
		}}
		_, err := j.Run(ctx, f)
		return err
	})
	for role, err := range errs {
		if err != nil && c.Where == "" {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// led is the same job, led by an [epoch.Leader].
type led struct {
	*course
	leader  *epoch.Leader
	workers []*ledWorker
	before  int // samples of ended epochs
}

// ledWorker is a worker of it.
type ledWorker struct {
	*epoch.Member
	epoch, behind, steps, due int  // where it is: steps before this run, and in it
	begun                     int  // epochs that hooks have begun
	stuck                     bool // the job ends here
}

// share is the number of a worker's samples.
func (l *led) share(worker int) int {
	n := l.Rows / l.Workers
	if worker < l.Rows%l.Workers {
		n++
	}
	return n
}

// begin begins a run, where the one before was.
func (l *led) begin(again bool) {
	j := epoch.Job{Members: l.Workers, InStep: l.Mode == "sync" || l.Mode == "ssp",
		AtOnce: l.Servers == 0 && l.Every > 0}
	before := l.leader
	l.course.begin(again)
	l.leader = epoch.NewLeader(j)
	if again {
		l.leader.Resume(before.Facts())
	}
	for w := range l.Workers {
		k := &ledWorker{}
		if again {
			k.epoch, k.behind = l.workers[w].epoch, l.workers[w].behind+l.workers[w].steps
			l.workers[w] = k
		} else {
			l.workers = append(l.workers, k)
		}
		k.Member = epoch.NewMember(epoch.At{Worker: w, Life: 1, Epochs: l.Epochs}, k.epoch)
	}
}

// run plays until nobody goes on.
func (l *led) run() {
	for goes := true; goes; {
		goes = false
		for w, k := range l.workers {
			switch {
			case k.stuck:
			case k.Doing() == nil:
				l.leader.Say(k.At())
				goes = goes || len(l.leader.Note()) > 0
				if t := l.leader.Told(w); t != nil && k.Told(t) {
					l.does(w, t)
					goes = true
				}
			case k.Doing().Do == epoch.Train:
				l.step(w)
				goes = true
			}
		}
	}
}

// does carries out an order that takes no steps.
func (l *led) does(w int, t *epoch.Told) {
	k := l.workers[w]
	switch t.Do {
	case epoch.Train:
		l.trains(w, t)
	case epoch.Measure:
		k.Did([]byte(fmt.Sprint(min((k.behind+k.steps)*l.Batch, l.share(w)))))
	case epoch.Act:
		l.begins(w, t.Made.Epoch)
		examples, n := l.before, 0
		for _, b := range t.Made.Shares {
			fmt.Sscan(string(b), &n)
			examples += n
		}
		k.stuck = l.note(w, t.Made.Epoch, "evaluated", fmt.Sprintf("evaluation %d of %d, end %t", t.Made.Number, examples, t.Made.End))
		if !k.stuck {
			k.Did(nil)
		}
	case epoch.End:
		l.before = (t.Epoch + 1) * l.Rows
		if k.stuck = l.note(w, t.Epoch, "ended", fmt.Sprintf("ends %d, again %t", t.Epoch, t.Again)); !k.stuck {
			k.Did(nil)
		}
	}
}

// trains begins an epoch, or goes on in it.
func (l *led) trains(w int, t *epoch.Told) {
	k := l.workers[w]
	if k.At().Ended { // else it stood between two of its steps
		if k.epoch != t.Epoch {
			k.epoch, k.behind = t.Epoch, 0
		}
		k.steps, k.due = 0, l.Every
		l.begins(w, t.Epoch)
		if l.Every > 0 && k.behind > 0 {
			if k.due = k.behind - k.behind%l.Every; k.due < k.behind || t.Middles >= k.behind/l.Every {
				k.due += l.Every
			}
		}
	}
	l.between(w)
}

// begins has hooks begin an epoch, once.
func (l *led) begins(w, epoch int) {
	if k := l.workers[w]; k.begun <= epoch {
		k.begun = epoch + 1
		l.note(w, epoch, "begins", fmt.Sprint("begins ", epoch))
	}
}

// step makes a step.
func (l *led) step(w int) {
	k := l.workers[w]
	k.steps++
	if k.stuck = l.note(w, k.epoch, "step", fmt.Sprint(k.steps)); !k.stuck {
		l.between(w)
	}
}

// between has a worker stand where its share is trained, or an evaluation is due.
func (l *led) between(w int) {
	k := l.workers[w]
	samples := min((k.behind+k.steps)*l.Batch, l.share(w))
	switch least := l.Rows / l.Workers; {
	case samples == l.share(w):
		k.Ended(nil)
	case l.Every > 0 && k.behind+k.steps >= k.due && (l.Servers > 0 || samples < least):
		k.due = k.behind + k.steps + l.Every
		k.Due(nil)
	}
}

// TestJobsAreLedAlike: the loop of today, and a leader and members that are fed with its steps, have hooks called at the
// same steps with the same evaluations, in every mode, in jobs that end as a whole at a drawn moment, and go on.
func TestJobsAreLedAlike(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 24, func(seed trial.Seed) {
		c, dir := drawCourse(seed.N), t.TempDir()
		l := &led{course: drawCourse(seed.N)}
		for _, again := range []bool{false, true} {
			c.begin(again)
			l.begin(again)
			synctest.Test(t, func(t *testing.T) { c.play(t, dir) })
			l.run()
			for w := range c.Workers {
				if !slices.Equal(c.calls[w], l.calls[w]) {
					t.Errorf("seed %d, %+v, again %t: worker %d's hooks are called for\n\t%s\nand led for\n\t%s", seed.N, drawCourse(seed.N), again, w,
						strings.Join(c.calls[w], "; "), strings.Join(l.calls[w], "; "))
				}
			}
		}
	})
}
